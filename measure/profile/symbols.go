package profile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/cilium/ebpf"
)

// nameSize and namesAtOnce are STACKS_NAME and STACKS_NAMES of stacks.bpf.c.
const (
	nameSize    = 128
	namesAtOnce = 256
)

// Names asks the kernel for the functions that addresses of samples lie in: its own, its modules' and BPF programs', as
// they are now. They are by address, and "" where there is no function.
func (s *Sampler) Names(seen []Seen) (map[uint64]string, error) {
	names := map[uint64]string{}
	for _, one := range seen {
		for i, address := range one.Kernel {
			names[called(address, i)] = ""
		}
	}
	delete(names, 0) // is nobody's
	var asked []uint64
	for address := range names {
		asked = append(asked, address)
	}
	text := make([]byte, namesAtOnce*nameSize)
	for some := range slices.Chunk(asked, namesAtOnce) {
		if err := s.ask(some, text, names); err != nil {
			return nil, fmt.Errorf("sampling stacks: asking the kernel for its functions' names: %w", err)
		}
	}
	return names, nil
}

// ask puts names to some addresses; text is for questions and answers.
func (s *Sampler) ask(addresses []uint64, text []byte, names map[uint64]string) error {
	clear(text)
	for i, address := range addresses {
		binary.NativeEndian.PutUint64(text[i*nameSize:], address)
	}
	if err := s.objects.StacksNamed.Put(uint32(0), text); err != nil {
		return err
	}
	if _, err := s.objects.StacksName.Run(&ebpf.RunOptions{}); err != nil {
		return err
	}
	if err := s.objects.StacksNamed.Lookup(uint32(0), text); err != nil {
		return err
	}
	for i, address := range addresses {
		names[address] = functionName(text[i*nameSize:][:nameSize])
	}
	return nil
}

// functionName is one as the kernel writes it: the name, and maybe its module in brackets (__sprint_symbol in
// kernel/kallsyms.c). A number stands for what has no name.
func functionName(text []byte) string {
	text, _, _ = bytes.Cut(text, []byte{0})
	text, _, _ = bytes.Cut(text, []byte(" "))
	if len(text) == 0 || text[0] >= '0' && text[0] <= '9' {
		return ""
	}
	return string(text)
}
