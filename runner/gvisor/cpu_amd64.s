// Nothing is here: with a file of this kind functions without a body may be declared, which cpu_amd64.go links to gVisor's.
