package iperf3

import (
	"bufio"
	"bytes"
	"crypto/rsa"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
)

// ParsePublicKey reads a server's public key as iperf3 takes it: PEM, a
// SubjectPublicKeyInfo ("openssl rsa -pubout"), or PKCS#1.
func ParsePublicKey(text []byte) (*rsa.PublicKey, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("a public key must be PEM; make it with: openssl rsa -in private.pem -outform PEM -pubout")
	}
	if block.Type == "RSA PUBLIC KEY" {
		return x509.ParsePKCS1PublicKey(block.Bytes)
	}
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("reading a public key out of a PEM block %q: %w", block.Type, err)
	}
	public, ok := key.(*rsa.PublicKey)
	if !ok {
		return nil, errors.New("the public key is not for RSA, which is all that iperf3 speaks")
	}
	return public, nil
}

// ParsePrivateKey reads a server's private key as iperf3 takes it: PEM, PKCS#1
// or PKCS#8, without a password.
func ParsePrivateKey(text []byte) (*rsa.PrivateKey, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("a private key must be PEM; make one with: openssl genrsa -out private.pem 2048")
	}
	if strings.Contains(block.Type, "ENCRYPTED") || block.Headers["DEK-Info"] != "" {
		return nil, errors.New("the private key is locked by a password; unlock it with: openssl rsa -in key.pem -out private.pem")
	}
	if block.Type == "RSA PRIVATE KEY" {
		return x509.ParsePKCS1PrivateKey(block.Bytes)
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("reading a private key out of a PEM block %q: %w", block.Type, err)
	}
	private, ok := key.(*rsa.PrivateKey)
	if !ok {
		return nil, errors.New("the private key is not for RSA, which is all that iperf3 speaks")
	}
	return private, nil
}

// ParseUsers reads a file of users: a line each, NAME,SHA256, the hash in
// hexadecimal of "{NAME}PASSWORD". As in iperf3, lines that begin with # or have no
// comma are passed over, what follows a second comma too, and of several lines with
// one name each counts.
func ParseUsers(text []byte) (Users, error) {
	users := Users{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimRight(lines.Text(), "\r")
		name, rest, found := strings.Cut(line, ",")
		if !found || line[0] == '#' {
			continue
		}
		hash, _, _ := strings.Cut(rest, ",")
		sum, err := hex.DecodeString(hash)
		if name == "" || err != nil || len(sum) != 32 {
			return nil, fmt.Errorf("users, line %d: it must be NAME,HASH with the SHA-256 of {NAME}PASSWORD in 64 hexadecimal digits", n)
		}
		users[name] = append(users[name], strings.ToLower(hash))
	}
	return users, lines.Err()
}
