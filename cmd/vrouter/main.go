// Command vrouter runs a vRouter, changes its configuration, and shows its tables.
package main

import "os"

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
