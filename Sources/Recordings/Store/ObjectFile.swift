import Archive
import Glibc
import Media
import ObjectStore
import Synchronization

/// A version of an object, open for reading. Any thread may read it.
///
/// Reads go through a ``BlockCache``. Missing blocks are fetched with read-ahead, which grows with sequential reading to at
/// most a quarter of the bytes read sequentially, so that unused bytes remain few.
final class ObjectFile: StoredFile {
    /// Maximum size of one request.
    private static let maximumFetchBytes = 4 << 20

    let path: String
    private let object: BlockCache.Object
    private let size: Int64
    private let cache: BlockCache
    private let bucket: RepeatingBucket
    /// Called when the object was replaced.
    private let changed: @Sendable () -> Void

    private struct State {
        /// Offset after the last read.
        var end: Int64 = 0
        /// Bytes read sequentially.
        var run: Int64 = 0
        var failure: ArchiveError?
        var isOutdated = false
    }

    private let state = Mutex(State())

    /// - Parameters:
    ///   - path: for messages.
    ///   - changed: called when a read finds that the object was replaced.
    init(
        _ key: String, sizeBytes: Int64, tag: String, path: String, bucket: RepeatingBucket,
        cache: BlockCache, changed: @escaping @Sendable () -> Void
    ) {
        object = BlockCache.Object(key: key, tag: tag)
        size = sizeBytes
        self.path = path
        self.bucket = bucket
        self.cache = cache
        self.changed = changed
    }

    var isDistant: Bool { true }

    var failure: ArchiveError? { state.withLock { $0.failure } }

    var isOutdated: Bool { state.withLock { $0.isOutdated } }

    func directAddress(
        validSeconds: Int, contentType: String
    ) throws(ArchiveError) -> String? {
        guard let bucket = bucket.bucket as? any ObjectBucket else { return nil }
        do throws(ObjectStoreError) {
            return try bucket.presignedAddress(
                of: object.key, validSeconds: validSeconds, contentType: contentType)
        } catch {
            throw ArchiveError(error, "sign an address of", path)
        }
    }

    func sizeBytes() throws(ArchiveError) -> Int64 { size }

    func read(
        at offset: Int64, into buffer: UnsafeMutableRawBufferPointer
    ) throws(ArchiveError) -> Int {
        guard offset >= 0, offset < size else { return 0 }
        let end = min(size, offset + Int64(buffer.count))
        let ahead = lookAhead(from: offset, to: end)
        var filled = readCached(at: offset, into: buffer)
        while offset + Int64(filled) < end {
            let place = offset + Int64(filled)
            do throws(ArchiveError) {
                let (first, bytes) = try fetch(from: place, to: end, ahead: ahead)
                let skipped = Int(place - first)
                let count = min(bytes.count - skipped, Int(end - place))
                bytes.withUnsafeBytes { bytes in
                    UnsafeMutableRawBufferPointer(rebasing: buffer[filled..<(filled + count)])
                        .copyMemory(from: .init(rebasing: bytes[skipped..<(skipped + count)]))
                }
                filled += count
            } catch {
                state.withLock { $0.failure = error }
                throw error
            }
            let rest = UnsafeMutableRawBufferPointer(
                rebasing: buffer[filled..<Int(end - offset)])
            filled += readCached(at: offset + Int64(filled), into: rest)
        }
        return filled
    }

    func readCached(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let block = Int64(BlockCache.blockBytes)
        var filled = 0
        while filled < buffer.count, offset >= 0, offset + Int64(filled) < size {
            let place = offset + Int64(filled)
            guard let bytes = cache.block(place / block, of: object) else { break }
            let start = Int(place % block)
            let count = min(bytes.count - start, buffer.count - filled)
            guard count > 0 else { break }
            bytes.withUnsafeBytes { bytes in
                UnsafeMutableRawBufferPointer(rebasing: buffer[filled..<(filled + count)])
                    .copyMemory(from: .init(rebasing: bytes[start..<(start + count)]))
            }
            filled += count
        }
        return filled
    }

    /// Notes a read.
    /// - Returns: number of bytes to read ahead.
    private func lookAhead(from offset: Int64, to end: Int64) -> Int64 {
        state.withLock { state in
            let jump = (offset - state.end).magnitude
            state.run =
                jump <= UInt64(BlockCache.blockBytes) ? state.run + max(0, end - state.end) : 0
            state.end = end
            return min(state.run / 4, Int64(Self.maximumFetchBytes))
        }
    }

    /// Fetches blocks from `start` to `end` and the read-ahead, up to the first cached block.
    /// - Returns: the bytes, and their offset.
    private func fetch(
        from start: Int64, to end: Int64, ahead: Int64
    ) throws(ArchiveError) -> (first: Int64, bytes: [UInt8]) {
        let block = Int64(BlockCache.blockBytes)
        let first = start / block
        let wanted = min(size, end.clampedAdding(ahead))
        let most = first + Int64(Self.maximumFetchBytes) / block
        var next = first + 1
        while next < most, next * block < wanted, !cache.has(next, of: object) { next += 1 }
        let range = first * block..<min(size, next * block)
        let bytes: [UInt8]
        do throws(ObjectStoreError) {
            bytes = try bucket.read(object.key, range: range, tag: object.tag)
        } catch {
            if error.kind == .changed {
                state.withLock { $0.isOutdated = true }
                changed()
            }
            throw ArchiveError(error, "read", path)
        }
        for index in first..<next {
            let from = Int((index - first) * block)
            let part = bytes[from..<min(bytes.count, from + BlockCache.blockBytes)]
            cache.keep(Array(part), at: index, of: object)
        }
        return (range.lowerBound, bytes)
    }
}

extension ArchiveError {
    /// An object store's error.
    /// - Parameters:
    ///   - operation: continues "cannot", for a missing object.
    ///   - path: of the object, for messages.
    init(_ error: ObjectStoreError, _ operation: String, _ path: String) {
        switch error.kind {
        case .gone: self = .system(operation: operation, path: path, errno: ENOENT)
        case .changed:
            self = .store(
                reason: "\(path) was replaced while it was read: run the command again")
        case .unreachable, .busy, .denied, .clock, .noBucket, .exists, .digest, .full, .refused,
            .stopped:
            self = .store(reason: error.message)
        }
    }
}
