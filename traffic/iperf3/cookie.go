package iperf3

import (
	"crypto/rand"
	"errors"
)

// A cookie names a session: the first thing that a client writes to the control
// connection and to each TCP data stream. It is 36 characters of the alphabet
// and a NUL.
const (
	cookieSize     = 37
	cookieAlphabet = "abcdefghijklmnopqrstuvwxyz234567"
)

type cookie [cookieSize]byte

var errNoCookie = errors.New("what came first is no cookie of iperf3")

// newCookie is random; 256 is a multiple of the alphabet's 32 letters.
func newCookie() cookie {
	var c cookie
	rand.Read(c[:cookieSize-1])
	for i := range cookieSize - 1 {
		c[i] = cookieAlphabet[int(c[i])%len(cookieAlphabet)]
	}
	return c
}

// check refuses what cannot be printed or has no end. iperf3 itself takes any
// bytes; its clients of all versions write the alphabet's letters.
func (c cookie) check() error {
	if c[cookieSize-1] != 0 {
		return errNoCookie
	}
	for _, b := range c[:cookieSize-1] {
		if b < 0x21 || b > 0x7e {
			return errNoCookie
		}
	}
	return nil
}

func (c cookie) String() string { return string(c[:cookieSize-1]) }
