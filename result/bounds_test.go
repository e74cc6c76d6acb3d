package result

import (
	"runtime"
	"strings"
	"testing"
)

const runAndCell = `{"record":"run","format":1}` + "\n" + `{"record":"cell","cell":"A"}` + "\n"

// A line whose few bytes would become very many records is refused before it is decoded.
func TestReaderBoundsWhatALineBecomes(t *testing.T) {
	for name, element := range map[string]string{"empty records": "{},", "numbers": "0,", "nothing": "null,", "lists": "[],"} {
		line := `{"record":"trial","cell":"A","block":1,"pairs":[` + strings.TrimSuffix(strings.Repeat(element, maxLine/len(element)-100), ",") + "]}\n"
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Decode(strings.NewReader(runAndCell + line))
		runtime.ReadMemStats(&after)
		if err == nil || !strings.HasPrefix(err.Error(), "line 3: ") || !strings.Contains(err.Error(), "a line may have") {
			t.Errorf("%s: %.100v", name, err)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 64<<20 {
			t.Errorf("%s: a line of %d bytes took %d", name, len(line), took)
		}
	}
}

func TestReaderBoundsAllPairs(t *testing.T) {
	d := decoder{file: &File{}, cells: map[string]bool{"A": true}, pairs: maxPairs - 1}
	line := []byte(`{"record":"trial","cell":"A","block":1,"pairs":[{}]}`)
	if err := d.trial(line); err != nil {
		t.Error(err)
	}
	if err := d.trial(line); err == nil || !strings.Contains(err.Error(), "pairs in all trials") {
		t.Error(err)
	}
}
