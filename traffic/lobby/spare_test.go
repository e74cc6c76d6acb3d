package lobby

import (
	"net"
	"testing"
)

// TestAClosedSpareStaysClosed: sessions that end behind their listener restore it, too.
func TestAClosedSpareStaysClosed(t *testing.T) {
	s := NewSpare()
	s.Close()
	if s.Restore(); s.file != nil {
		t.Error("its file is open again")
	}
}

// TestARootWithoutFiles to open, as a static program may be run in, is none without files: everybody was told so.
func TestARootWithoutFiles(t *testing.T) {
	for name, files := range map[string][]string{"no device": {"/nowhere/null", "/"}, "nothing": {"/nowhere/null", "/nowhere"}} {
		t.Run(name, func(t *testing.T) {
			defer func(usual []string) { anyFiles = usual }(anyFiles)
			anyFiles = files
			socket, err := Listen(t.Context(), "127.0.0.1", nil)
			if err != nil {
				t.Fatal(err)
			}
			defer socket.Close()
			s := NewSpare()
			defer s.Close()
			comes, err := net.Dial("tcp", socket.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer comes.Close()
			conn, last, err := s.Accept(socket)
			if err != nil {
				t.Fatal(err)
			}
			conn.Close()
			var r Reserve
			defer r.Close()
			if err := r.Take(2); last || !s.Restore() || err != nil {
				t.Errorf("last %t, %v", last, err)
			}
		})
	}
}
