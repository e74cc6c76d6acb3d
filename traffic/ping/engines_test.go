package ping

// engines are the implementations that this system can run.
var engines = map[string]func(setup) (engine, error){"own": newEngine, "portable": newPortableEngine}
