package iperf3

import (
	"crypto/rsa"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const marioHash = "bf7a49a846d44b454a5d11e7acfaf13d138bbe0b7483aa3e050879700572709b" // of {mario}rossi, in iperf3's manual

func file(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func keys(t testing.TB) (*rsa.PrivateKey, *rsa.PublicKey) {
	t.Helper()
	private, err := ParsePrivateKey(file(t, "private.pem"))
	if err != nil {
		t.Fatal(err)
	}
	public, err := ParsePublicKey(file(t, "public.pem"))
	if err != nil {
		t.Fatal(err)
	}
	return private, public
}

// TestTokensOfOpenSSL opens tokens that OpenSSL encrypted, with both paddings.
func TestTokensOfOpenSSL(t *testing.T) {
	private, _ := keys(t)
	made := time.Unix(1700000000, 0)
	for _, c := range []struct {
		name  string
		token string
		pkcs1 bool
		now   time.Time
		users Users
		ok    bool
	}{
		{"oaep", "token-oaep.b64", false, made, Users{"mario": {marioHash}}, true},
		{"pkcs1", "token-pkcs1.b64", true, made, Users{"mario": {marioHash}}, true},
		{"10 s late", "token-oaep.b64", false, made.Add(10 * time.Second), Users{"mario": {marioHash}}, true},
		{"11 s late", "token-oaep.b64", false, made.Add(11 * time.Second), Users{"mario": {marioHash}}, false},
		{"11 s early", "token-oaep.b64", false, made.Add(-11 * time.Second), Users{"mario": {marioHash}}, false},
		{"other padding", "token-oaep.b64", true, made, Users{"mario": {marioHash}}, false},
		{"other padding the other way", "token-pkcs1.b64", false, made, Users{"mario": {marioHash}}, false},
		{"other password", "token-oaep.b64", false, made, Users{"mario": {strings.Repeat("0", 64)}}, false},
		{"nobody known", "token-oaep.b64", false, made, nil, false},
	} {
		o := ServerOptions{PrivateKey: private, Users: c.users, PKCS1Padding: c.pkcs1}
		if err := o.authorize(string(file(t, c.token)), c.now); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestOpenSSLOpensOurTokens is the other direction.
func TestOpenSSLOpensOurTokens(t *testing.T) {
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skip("openssl is not on the PATH")
	}
	_, public := keys(t)
	for _, padding := range []string{"oaep", "pkcs1"} {
		token, err := newToken(Options{Username: "mario", Password: "rossi", PublicKey: public, PKCS1Padding: padding == "pkcs1"}, time.Unix(1700000000, 0))
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("sh", "-c", "base64 -d | openssl pkeyutl -decrypt -inkey testdata/private.pem -pkeyopt rsa_padding_mode:"+padding)
		cmd.Stdin = strings.NewReader(token)
		out, err := cmd.Output()
		if want := "user: mario\npwd:  rossi\nts:   1700000000"; err != nil || string(out) != want {
			t.Errorf("%s: %v, %q; want %q", padding, err, out, want)
		}
	}
}

func TestHostileTokens(t *testing.T) {
	private, _ := keys(t)
	o := ServerOptions{PrivateKey: private, Users: Users{"mario": {marioHash}, "": {marioHash}}}
	for _, token := range []string{"", "=", "!!!!", "AAAA", strings.Repeat("A", 8000), strings.Repeat("A", 344)} {
		if o.authorize(token, time.Now()) == nil {
			t.Errorf("the token %.20q was let in", token)
		}
	}
	for _, text := range []string{"", "user: a", "user: a\npwd:  b\nts:   x", "pwd: a\nuser: b\nts: 1", "user: a\npwd:  b\nts:   99999999999999999999", "user: a\npwd:  b\nts:   -5", "user: a\npwd:  b\nts:   1\nmore"} {
		if _, _, _, err := parseToken([]byte(text)); err == nil {
			t.Errorf("%q was read as a token", text)
		}
	}
}

func TestKeys(t *testing.T) {
	for _, name := range []string{"private.pem", "private-pkcs1.pem"} {
		if _, err := ParsePrivateKey(file(t, name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"public.pem", "public-pkcs1.pem"} {
		if _, err := ParsePublicKey(file(t, name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"private-locked.pem", "private-ec.pem", "public.pem", "token-oaep.b64"} {
		if _, err := ParsePrivateKey(file(t, name)); err == nil {
			t.Errorf("%s was taken for a private key of RSA", name)
		}
	}
	for _, name := range []string{"public-ec.pem", "private.pem", "token-oaep.b64"} {
		if _, err := ParsePublicKey(file(t, name)); err == nil {
			t.Errorf("%s was taken for a public key of RSA", name)
		}
	}
}

func TestUsers(t *testing.T) {
	none := strings.Repeat("0", 64)
	users, err := ParseUsers([]byte("# who\r\n\nnobody\nmario," + none + "\r\nmario," + strings.ToUpper(marioHash) + ",x\n"))
	if err != nil || len(users) != 1 || !slices.Equal(users["mario"], []string{none, marioHash}) {
		t.Errorf("%v, %v", users, err)
	}
	for _, text := range []string{"mario,abc", ",", "," + marioHash, strings.Repeat("x", 70000)} {
		if _, err := ParseUsers([]byte(text)); err == nil {
			t.Errorf("%.20q was read as users", text)
		}
	}
}

// TestAuthorization lets users in over the wire, and nobody else.
func TestAuthorization(t *testing.T) {
	private, public := keys(t)
	for _, pkcs1 := range []bool{false, true} {
		h := serve(t, ServerOptions{PrivateKey: private, Users: Users{"mario": {marioHash}}, PKCS1Padding: pkcs1})
		o := h.options()
		o.Bytes, o.Duration, o.PublicKey, o.PKCS1Padding = 1<<17, 0, public, pkcs1
		for _, c := range []struct {
			name, password string
			ok             bool
		}{{"mario", "rossi", true}, {"mario", "verdi", false}, {"luigi", "rossi", false}} {
			o.Username, o.Password = c.name, c.password
			_, err := run(t, o)
			if refused, ok := err.(*ServerError); c.ok && err != nil || !c.ok && (!ok || refused.Number != ErrorAuth) {
				t.Errorf("%s with %s, PKCS#1 %v: %v", c.name, c.password, pkcs1, err)
			}
		}
		h.stop()
		one := serve(t, ServerOptions{PrivateKey: private, Users: Users{"mario": {marioHash}}, PKCS1Padding: pkcs1, OneOff: true})
		o.Port, o.Username, o.Password = one.port, "mario", "verdi"
		run(t, o)
		o.Password = "rossi"
		if _, err := run(t, o); err != nil {
			t.Errorf("a server for one client took one without authorization for it: %v", err)
		}
		h = serve(t, ServerOptions{PrivateKey: private, Users: Users{"mario": {marioHash}}, PKCS1Padding: pkcs1})
		o.Port, o.Username, o.PublicKey = h.port, "", nil
		if _, err := run(t, o); err == nil {
			t.Error("a client without a token was let in")
		}
	}
}
