// The compiler lets a function have no body, as nanotime, in a package with assembly only.
