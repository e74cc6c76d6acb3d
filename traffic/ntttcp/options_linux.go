package ntttcp

// bookkeeping is by how much Linux tells larger buffers than were asked for.
const bookkeeping = 2

const bufferAdvice = " (raise net.core.wmem_max and net.core.rmem_max)"
