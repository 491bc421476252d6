import Archive
import ObjectStore
import Synchronization
import Threads

/// Fetches the proofs of one source's segments in parallel. Each is written immediately; only its records are kept in memory.
///
/// A proof is valid if its object is in the bucket, as it was proven.
struct StoredProofs: Sendable {
    /// A segment's proof in the bucket.
    struct Wanted: Sendable {
        var object: ObjectPage.Entry
        var segment: SegmentKey
    }

    /// Result of fetching.
    struct Found: Sendable {
        var source: StoredSource
        /// The segments whose proofs are on the disk now.
        var segments: [SegmentKey] = []
        var problems = ProblemLines()
    }

    private let place: UploadTarget
    /// Requests at the same time.
    private let connections: Int
    private let sizes: [String: Int64]
    private let tags: [String: String]

    /// - Parameter objects: the stored objects of the session.
    init(in place: UploadTarget, objects: [ObjectPage.Entry], connections: Int) {
        self.place = place
        self.connections = connections
        sizes = Dictionary(objects.map { ($0.key, $0.sizeBytes) }, uniquingKeysWith: { $1 })
        tags = Dictionary(objects.map { ($0.key, $0.tag) }, uniquingKeysWith: { $1 })
    }

    /// Fetches proofs, which are not durable before ``settle(_:of:)``.
    /// - Parameter source: the state from the source's ledger.
    func run(
        _ wanted: [Wanted], into source: StoredSource
    ) throws(UploadError) -> Found {
        let found = Mutex(Found(source: source))
        try each(wanted.count) { index throws(UploadError) in
            let item = wanted[index]
            do throws(UploadError) {
                let proof = try fetch(item)
                found.withLock { found in
                    found.source.add(proof)
                    found.segments.append(item.segment)
                }
            } catch {
                guard let problem = error.aboutOneObject else { throw error }
                found.withLock { $0.problems.add(problem) }
            }
        }
        return found.withLock { found in
            found.source.believeStoredThrough()
            return found
        }
    }

    /// Makes the files of a source durable; they were written before.
    func settle(_ segments: [SegmentKey], of owner: SourceKey) throws(UploadError) {
        let layout = place.layout
        try each(segments.count) { index throws(UploadError) in
            try place.pass(.record)
            try place.disk { () throws(ArchiveError) in
                try RecordingFile(
                    reopening: layout.path(of: segments[index], .proof), on: layout.disk
                )
                .synchronize()
            }
        }
        guard FileSystem.isDirectory(layout.source(owner)) else { return }
        try place.disk { () throws(ArchiveError) in
            try FileSystem.synchronizeDirectory(layout.source(owner), on: layout.disk)
        }
    }

    /// Fetches one proof to the disk.
    /// - Throws: ``UploadError/setAside(_:)`` if it does not match its object.
    private func fetch(_ wanted: Wanted) throws(UploadError) -> SegmentProof {
        let (object, segment) = (wanted.object, wanted.segment)
        var bytes = try StoredSessionFetch(from: place).read(object)
        var proof: SegmentProof
        do throws(ArchiveError) {
            proof = try SegmentProof.parse(bytes, path: "\(place.bucket.name)/\(object.key)")
        } catch {
            throw .setAside("\(error)")
        }
        let mismatch = UploadError.setAside(
            "\(place.bucket.name)/\(object.key) is not about the object beside it")
        guard proof.source == segment.source, proof.segment == segment.fileName,
            sizes[segment.description] == proof.sizeBytes
        else { throw mismatch }
        let tag = tags[segment.description] ?? ""
        if proof.store == place.bucket.name {
            guard EntityTag.isSame(proof.tag, tag) else { throw mismatch }
        } else {
            // The bucket is a copy, whose objects may have other tags. From now on, this is the store.
            proof.store = place.bucket.name
            proof.tag = tag
            bytes = proof.encoded()
        }
        try write(bytes, of: segment)
        return proof
    }

    private func write(_ bytes: [UInt8], of segment: SegmentKey) throws(UploadError) {
        let layout = place.layout
        try place.disk { () throws(ArchiveError) in
            try FileSystem.makeDirectories(layout.source(segment.owner), on: layout.disk)
            let file = try RecordingFile(
                creating: layout.path(of: segment, .proof), on: layout.disk)
            try file.append(bytes)
            file.startWriteback()
        }
    }

    /// Runs work on each element, in parallel, until one fails.
    private func each(
        _ count: Int, _ body: @escaping @Sendable (Int) throws(UploadError) -> Void
    ) throws(UploadError) {
        struct State {
            var next = 0
            var error: UploadError?
        }
        let state = Mutex(State())
        let work: @Sendable () -> Void = {
            while true {
                let index = state.withLock { state -> Int? in
                    guard state.error == nil, state.next < count else { return nil }
                    defer { state.next += 1 }
                    return state.next
                }
                guard let index else { return }
                do throws(UploadError) {
                    try body(index)
                } catch {
                    state.withLock { $0.error = $0.error ?? error }
                }
            }
        }
        // This thread is one of them.
        let others = (0..<max(0, min(connections, count) - 1)).map { _ in JoinableThread() }
        for thread in others { thread.start("take-over", work) }
        work()
        for thread in others { thread.join() }
        if let error = state.withLock({ $0.error }) { throw error }
    }
}

/// A bounded list of messages about ignored proofs.
struct ProblemLines: Hashable, Sendable {
    static let maximum = 64

    private var lines: [String] = []
    /// Number of omitted messages.
    private var more = 0

    mutating func add(_ line: String) {
        if lines.count < Self.maximum { lines.append(line) } else { more += 1 }
    }

    mutating func add(_ other: ProblemLines) {
        for line in other.lines { add(line) }
        more += other.more
    }

    /// The lines; the last one counts the omitted ones.
    var all: [String] { more > 0 ? lines + ["and \(more) more"] : lines }
}

extension UploadError {
    /// The error's text if it concerns a single object, and a retry would not help; nil otherwise.
    var aboutOneObject: String? {
        switch self {
        case .setAside(let problem): problem
        case .store(let error) where error.kind == .refused: error.message
        case .store, .archive, .stopped, .notEntitled, .nothing, .changedMeanwhile: nil
        }
    }
}
