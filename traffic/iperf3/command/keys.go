package command

import (
	"bufio"
	"crypto/rsa"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"windtunnel/traffic/iperf3"
)

const (
	longestKey   = 64 << 10 // bytes of a PEM file
	longestUsers = 16 << 20 // bytes of a file of users
)

func readPEM(name string) (*pem.Block, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, longestKey))
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("%s holds no PEM (-----BEGIN ...)", name)
	}
	return block, nil
}

// loadPublicKey reads an RSA key as `openssl rsa -pubout` writes it.
func loadPublicKey(name string) (*rsa.PublicKey, error) {
	block, err := readPEM(name)
	if err != nil {
		return nil, fmt.Errorf("reading the public key: %w", err)
	}
	if block.Type == "RSA PUBLIC KEY" {
		return x509.ParsePKCS1PublicKey(block.Bytes)
	}
	if strings.HasSuffix(block.Type, "PRIVATE KEY") {
		return nil, fmt.Errorf("%s is a private key, which only the server needs: openssl rsa -in %s -pubout", name, name)
	}
	any, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("reading the public key %s: %w", name, err)
	}
	key, ok := any.(*rsa.PublicKey)
	if !ok {
		return nil, fmt.Errorf("%s is a %T: iperf3 takes RSA keys only", name, any)
	}
	return key, nil
}

// loadPrivateKey reads an RSA key as `openssl genrsa` writes it, without a password.
func loadPrivateKey(name string) (*rsa.PrivateKey, error) {
	block, err := readPEM(name)
	if err != nil {
		return nil, fmt.Errorf("reading the private key: %w", err)
	}
	if block.Type == "ENCRYPTED PRIVATE KEY" || block.Headers["DEK-Info"] != "" {
		return nil, fmt.Errorf("%s is protected by a password, which iperf3 does not ask for: openssl rsa -in %s -out unprotected.pem", name, name)
	}
	if block.Type == "RSA PRIVATE KEY" {
		return x509.ParsePKCS1PrivateKey(block.Bytes)
	}
	any, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("reading the private key %s: %w", name, err)
	}
	key, ok := any.(*rsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("%s is a %T: iperf3 takes RSA keys only", name, any)
	}
	return key, nil
}

func loadUsers(name string) (iperf3.Users, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("cannot access authorized users file: %w", err)
	}
	defer file.Close()
	users, err := readUsers(io.LimitReader(file, longestUsers))
	if err != nil {
		return nil, fmt.Errorf("authorized users file %s: %w", name, err)
	}
	return users, nil
}

// readUsers reads lines of NAME,HASH; # begins a comment. Of two lines with the
// same name the first counts, as in iperf3.
func readUsers(from io.Reader) (iperf3.Users, error) {
	users := iperf3.Users{}
	lines := bufio.NewScanner(from)
	for number := 1; lines.Scan(); number++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		name, hash, _ := strings.Cut(line, ",")
		hash = strings.ToLower(strings.TrimSpace(hash))
		if sum, err := hex.DecodeString(hash); err != nil || len(sum) != 32 || name == "" {
			return nil, fmt.Errorf("line %d is not NAME,SHA256 (64 hexadecimal digits of \"{NAME}PASSWORD\")", number)
		}
		if _, twice := users[name]; !twice {
			users[name] = hash
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(users) == 0 {
		return nil, errors.New("it names nobody, so nobody could test")
	}
	return users, nil
}
