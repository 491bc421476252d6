import TestSpools

/// A file as readers see it, and its durable state.
struct FaultyFile {
    private enum Change {
        case write(offset: Int, [UInt8])
        case truncate(Int)
    }

    /// The unit that survives a power cut or is lost.
    static let pageBytes = 4_096

    /// As every process sees it.
    private(set) var cached: [UInt8]
    private var synced: [UInt8]
    /// Changes since the last synchronisation.
    private var changes: [Change] = []

    init(_ bytes: [UInt8]) {
        cached = bytes
        synced = bytes
    }

    mutating func write(_ bytes: ArraySlice<UInt8>, at offset: Int) {
        let change = Change.write(offset: offset, Array(bytes))
        Self.apply(change, to: &cached)
        changes.append(change)
    }

    mutating func truncate(to size: Int) {
        Self.apply(.truncate(size), to: &cached)
        changes.append(.truncate(size))
    }

    mutating func synchronize() {
        for change in changes { Self.apply(change, to: &synced) }
        changes = []
    }

    /// Changes that were not durable are lost unless written again.
    mutating func losePages() { changes = [] }

    /// Clean pages from the one with an offset on are read from the disk again; the size stays.
    mutating func forget(from offset: Int) {
        var bytes = synced
        for change in changes { Self.apply(change, to: &bytes) }
        Self.apply(.truncate(cached.count), to: &bytes)
        let kept = min(cached.count, offset / Self.pageBytes * Self.pageBytes)
        cached.replaceSubrange(kept..., with: bytes[kept...])
    }

    /// - Returns: the new byte; nil past the end.
    mutating func flip(_ byte: Int, _ bit: Int) -> UInt8? {
        guard cached.indices.contains(byte) else { return nil }
        cached[byte] ^= 1 << bit
        if synced.indices.contains(byte) { synced[byte] ^= 1 << bit }
        return cached[byte]
    }

    /// The state after a power cut: any size since the last synchronisation, and each page in any of its states since
    /// then.
    func afterPowerCut(using random: inout SeededGenerator) -> [UInt8] {
        guard !changes.isEmpty else { return synced }
        var versions = [synced]
        for change in changes {
            var next = versions[versions.count - 1]
            Self.apply(change, to: &next)
            versions.append(next)
        }
        let size = versions[Self.moment(versions.count, &random)].count
        var bytes: [UInt8] = []
        bytes.reserveCapacity(size)
        while bytes.count < size {
            let page = bytes.count..<min(bytes.count + Self.pageBytes, size)
            let version = versions[Self.moment(versions.count, &random)]
            bytes +=
                version[min(page.lowerBound, version.count)..<min(page.upperBound, version.count)]
            bytes += [UInt8](repeating: 0, count: page.upperBound - bytes.count)
        }
        return bytes
    }

    /// Often the first, often the last, and sometimes one in between.
    private static func moment(_ count: Int, _ random: inout SeededGenerator) -> Int {
        switch Int.random(in: 0..<3, using: &random) {
        case 0: 0
        case 1: count - 1
        default: Int.random(in: 0..<count, using: &random)
        }
    }

    private static func apply(_ change: Change, to bytes: inout [UInt8]) {
        switch change {
        case .write(let offset, let new):
            let end = offset + new.count
            if bytes.count < end { bytes += [UInt8](repeating: 0, count: end - bytes.count) }
            bytes.replaceSubrange(offset..<end, with: new)
        case .truncate(let size):
            if size < bytes.count {
                bytes.removeLast(bytes.count - size)
            } else {
                bytes += [UInt8](repeating: 0, count: size - bytes.count)
            }
        }
    }
}
