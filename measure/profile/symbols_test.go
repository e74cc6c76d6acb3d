package profile

import (
	"strings"
	"testing"
)

const kallsyms = `ffffffff81000000 T _stext
ffffffff81000040 T __pfx_tcp_sendmsg
ffffffff81000050 T tcp_sendmsg
ffffffff81000050 t tcp_sendmsg_alias
ffffffff81000200 D data_is_no_code
ffffffff81000100 t tcp_push.isra.0
ffffffffc0200000 t veth_xmit	[veth]
ffffffffc0300000 t bpf_prog_6deef7357e7b4530_vr_fabric	[bpf]
`

func TestSymbols(t *testing.T) {
	s, err := readSymbols(strings.NewReader(kallsyms))
	if err != nil {
		t.Fatal(err)
	}
	for address, want := range map[uint64]string{
		0xffffffff81000050: "tcp_sendmsg", 0xffffffff810000ff: "tcp_sendmsg", 0xffffffff81000100: "tcp_push.isra.0", 0xffffffff81000250: "tcp_push.isra.0",
		0xffffffffc0200010: "veth_xmit", 0xffffffffc0300fff: "bpf_prog_6deef7357e7b4530_vr_fabric",
		0xffffffff80ffffff: "", 0xffffffffc0500000: "", 0xffffffff81200000: "",
	} {
		if got := s.Name(address); got != want {
			t.Errorf("%x is %q, not %q", address, got, want)
		}
	}
}

func TestSymbolsThatAreNotToBeHad(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"hidden":      {"0000000000000000 T _stext\n0000000000000000 T tcp_sendmsg\n", "kptr_restrict"},
		"none":        {"", "kptr_restrict"},
		"no address":  {"zz T tcp_sendmsg\n", "is no number"},
		"a long line": {strings.Repeat("f", 1<<20), "too long"},
	} {
		if _, err := readSymbols(strings.NewReader(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
