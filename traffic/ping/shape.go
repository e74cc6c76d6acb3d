package ping

// shape is the sizes of requests and answers. Where some requests read and others write, as with storage, message is
// what a read's answer and a write's request carry, and response is the rest of both: what asks for the one, and
// what says that the other has come.
type shape struct {
	message  int // bytes
	response int // bytes
	mixed    bool
	reads    uint64 // of 100 requests, if mixed, evenly among them
}

// isRead tells it of a flow's request by its number from 0 on. Both ends go by it, so nothing on the wire says it.
//
//go:nosplit
func (s *shape) isRead(number uint64) bool {
	if !s.mixed {
		return false
	}
	k := number % 100
	return (k+1)*s.reads/100 > k*s.reads/100
}

// request is the size of a request.
//
//go:nosplit
func (s *shape) request(number uint64) int {
	if s.isRead(number) {
		return s.response
	}
	return s.message
}

// answer is the size of its answer.
//
//go:nosplit
func (s *shape) answer(number uint64) int {
	if s.isRead(number) {
		return s.message
	}
	return s.response
}

// longest is the size of the longest answer, and shortest of the shortest.
func (s *shape) longest() int {
	if s.mixed {
		return max(s.message, s.response)
	}
	return s.response
}

func (s *shape) shortest() int {
	if s.mixed {
		return min(s.message, s.response)
	}
	return s.response
}
