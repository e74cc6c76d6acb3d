package lobby

import "testing"

// TestAClosedSpareStaysClosed: sessions that end behind their listener restore it, too.
func TestAClosedSpareStaysClosed(t *testing.T) {
	s := NewSpare()
	s.Close()
	if s.Restore(); s.file != nil {
		t.Error("its file is open again")
	}
}
