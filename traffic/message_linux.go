package traffic

import "golang.org/x/sys/unix"

// Message is struct mmsghdr of <sys/socket.h>: one message of a call of sendmmsg or recvmmsg.
type Message struct {
	Header unix.Msghdr
	Length uint32 // bytes of it that the kernel sent or received
	_      uint32
}
