package lobby

import "os"

// Reserve is files kept for what is opened later. Its zero value has none. One goroutine at a time uses it.
type Reserve struct{ files []*os.File }

// Take opens so many more, or none; the error is that there are none (see NoFiles).
func (r *Reserve) Take(n int) error {
	had := len(r.files)
	for range n {
		f, err := anyFile()
		if err != nil {
			for len(r.files) > had {
				r.GiveUp()
			}
			return err
		}
		r.files = append(r.files, f)
	}
	return nil
}

// GiveUp makes place for one file, if any is left.
func (r *Reserve) GiveUp() {
	if last := len(r.files) - 1; last >= 0 {
		r.files[last].Close()
		r.files = r.files[:last]
	}
}

// Close gives up what is left.
func (r *Reserve) Close() {
	for len(r.files) > 0 {
		r.GiveUp()
	}
}
