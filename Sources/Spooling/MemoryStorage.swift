import Synchronization

/// A spool's files in memory, without a usable disk. They are lost with the process.
package final class MemoryStorage: SpoolStorage {
    /// The pieces of each file: a file that grew as one array would reserve up to twice its size.
    private let files = Mutex<[String: [[UInt8]]]>([:])

    package init() {}

    package var path: String { "memory" }
    package var isVolatile: Bool { true }

    package func names() -> [String] { files.withLock { Array($0.keys) } }

    package func append(_ pieces: [UnsafeRawBufferPointer], to name: String, at offset: Int) {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(pieces.reduce(0) { $0 + $1.count })
        for piece in pieces { bytes.append(contentsOf: piece) }
        files.withLock { $0[name, default: []].append(bytes) }
    }

    package func read(_ name: String, at offset: Int, limit: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        for piece in files.withLock({ $0[name] ?? [] }) where bytes.count - offset < limit {
            bytes += piece
        }
        return offset == 0 && bytes.count <= limit
            ? bytes : Array(bytes.dropFirst(offset).prefix(limit))
    }

    package func sizeBytes(of name: String) -> Int {
        files.withLock { $0[name] ?? [] }.reduce(0) { $0 + $1.count }
    }

    package func rename(_ name: String, to other: String) {
        files.withLock { $0[other] = $0.removeValue(forKey: name) }
    }

    package func delete(_ name: String) { files.withLock { $0[name] = nil } }

    package func synchronize(_ names: [String]) {}
}
