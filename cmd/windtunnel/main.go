// Command windtunnel lays out a virtual network path, blows traffic through it,
// measures both ends and says what every layer costs.
package main

import "os"

func main() {
	os.Exit(windtunnel(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
