package iperf3

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// errUnauthorized tells a client nothing of why.
var errUnauthorized = errors.New("the client is not authorized")

// newToken is the authtoken of a user: name, password and time, encrypted for
// the server. OAEP with SHA-1 is what iperf3 3.17 and later speak.
func newToken(o Options, now time.Time) (string, error) {
	text := fmt.Appendf(nil, "user: %s\npwd:  %s\nts:   %d", o.Username, o.Password, now.Unix())
	var sealed []byte
	var err error
	if o.PKCS1Padding {
		//lint:ignore SA1019 servers before 3.17 speak nothing else, and the user asked for it
		sealed, err = rsa.EncryptPKCS1v15(rand.Reader, o.PublicKey, text)
	} else {
		sealed, err = rsa.EncryptOAEP(sha1.New(), rand.Reader, o.PublicKey, text, nil)
	}
	if err != nil {
		return "", fmt.Errorf("encrypting user and password for the server: %w", err)
	}
	return base64.StdEncoding.EncodeToString(sealed), nil
}

// authorize says whether a client's token is a user's, made now.
func (o *ServerOptions) authorize(token string, now time.Time) error {
	if o.PrivateKey == nil {
		return nil
	}
	text, err := o.open(token)
	if err != nil {
		return errUnauthorized
	}
	name, password, at, err := parseToken(text)
	if err != nil {
		return errUnauthorized
	}
	skew := o.Skew
	if skew == 0 {
		skew = DefaultSkew
	}
	users := o.Users
	if o.ReadUsers != nil {
		if users, err = o.ReadUsers(); err != nil {
			return fmt.Errorf("%w: reading the users: %w", errUnauthorized, err)
		}
	}
	if !users.have(name, password) || now.Sub(at).Abs() > skew {
		return errUnauthorized
	}
	return nil
}

func (u Users) have(name, password string) bool {
	sum := sha256.Sum256([]byte("{" + name + "}" + password))
	given := []byte(hex.EncodeToString(sum[:]))
	same := 0
	for _, known := range u[name] {
		same |= subtle.ConstantTimeCompare(given, []byte(known))
	}
	return same == 1
}

func (o *ServerOptions) open(token string) ([]byte, error) {
	sealed, err := base64.StdEncoding.DecodeString(token)
	if err != nil {
		return nil, err
	}
	if o.PKCS1Padding {
		//lint:ignore SA1019 clients before 3.17 speak nothing else, and the operator asked for it
		return rsa.DecryptPKCS1v15(nil, o.PrivateKey, sealed)
	}
	return rsa.DecryptOAEP(sha1.New(), nil, o.PrivateKey, sealed, nil)
}

func parseToken(text []byte) (name, password string, at time.Time, err error) {
	lines := strings.Split(string(text), "\n")
	if len(lines) != 3 {
		return "", "", at, errors.New("a token has three lines")
	}
	var values [3]string
	for i, label := range []string{"user:", "pwd:", "ts:"} {
		value, found := strings.CutPrefix(lines[i], label)
		if !found {
			return "", "", at, fmt.Errorf("a token's line begins with %s", label)
		}
		values[i] = strings.TrimLeft(value, " ")
	}
	seconds, err := strconv.ParseInt(strings.TrimSpace(values[2]), 10, 64)
	// Within the years that time.Time can subtract.
	if err != nil || seconds < 0 || seconds > 1<<40 {
		return "", "", at, errors.New("a token's time is in seconds")
	}
	return values[0], values[1], time.Unix(seconds, 0), nil
}
