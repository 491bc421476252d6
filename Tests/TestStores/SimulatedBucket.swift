import Archive
import Hashing
package import ObjectStore
import Synchronization
import TestSpools

/// An S3-compatible store in memory, with faults from a script or a seed.
package final class SimulatedBucket: ObjectBucket {
    /// The fault of one request.
    package enum Fault: Hashable, Sendable, CaseIterable {
        /// 500: without effect.
        case serverError
        /// 503: without effect.
        case slowDown
        /// The connection was cut while the request was sent.
        case cut
        /// Done, but the answer was lost, late or truncated.
        case lostAnswer
        /// The store received other bytes than were sent.
        case wrongDigest
        case full
        case denied
        /// The clocks differ by 20 minutes.
        case clock
        case bucketGone
        /// All unfinished uploads have vanished.
        case uploadsGone
        /// The store silently keeps other bytes than it received.
        case rot
        case refused
    }

    /// A request that can be made to fail by its kind.
    package enum Operation: Hashable, Sendable {
        case put, putPart, complete, read
    }

    package struct Object: Hashable, Sendable {
        package var bytes: [UInt8]
        package var tag: String
        package var metadata: [String: String]
    }

    private struct Upload {
        var key: String
        var metadata: [String: String]
        var parts: [Int: Part] = [:]
    }

    private struct Part {
        var bytes: [UInt8]
        var tag: String
    }

    private struct State {
        var objects: [String: Object] = [:]
        var uploads: [String: Upload] = [:]
        var latest = 0
        var requests = 0
        /// By the number of the request, from 1.
        var script: [Int: Fault] = [:]
        /// The fault of every request until removed.
        var constant: Fault?
        var random: SeededGenerator?
        var faultOneIn: UInt64 = 0
        var randomFaults: [Fault] = []
        /// Number of writes of each key.
        var made: [String: Int] = [:]
        var deleted: [String] = []
        var largestBytes = 0
        var parts = 0
        var refusedCompletions = 0
        /// The errors of all requests of a kind for segments.
        var answers: [Operation: ObjectStoreError.Kind] = [:]
        var begunUploads = 0
        var abandoned: [String] = []
    }

    package let name = "s3://test/archive"
    private let state = Mutex(State())
    /// Whether it returns the digests of parts, as not all stores do.
    private let returnsDigests: Bool
    /// Whether lists of parts have the digests, too (not with SeaweedFS).
    private let listsDigests: Bool
    private let beforePart: @Sendable (Int) -> Void
    private let beforeList: @Sendable () -> Void

    /// - Parameters:
    ///   - returnsDigests: whether the digest of each part is returned, and required to complete an upload.
    ///   - beforePart: called with the number of each part that is sent, before its effect.
    ///   - beforeList: called before each listing.
    package init(
        returnsDigests: Bool = true, listsDigests: Bool = true,
        beforePart: @escaping @Sendable (Int) -> Void = { _ in },
        beforeList: @escaping @Sendable () -> Void = {}
    ) {
        self.returnsDigests = returnsDigests
        self.listsDigests = returnsDigests && listsDigests
        self.beforePart = beforePart
        self.beforeList = beforeList
    }

    // MARK: Access for tests

    package var objects: [String: Object] { state.withLock { $0.objects } }
    package var requests: Int { state.withLock { $0.requests } }
    package var made: [String: Int] { state.withLock { $0.made } }
    package var deleted: [String] { state.withLock { $0.deleted } }
    package var uploads: Int { state.withLock { $0.uploads.count } }
    /// Uploads that were begun.
    package var begunUploads: Int { state.withLock { $0.begunUploads } }
    /// Parts that were sent.
    package var sentParts: Int { state.withLock { $0.parts } }
    /// The largest request, bytes.
    package var largestBytes: Int { state.withLock { $0.largestBytes } }

    /// Makes the `count`th request from now fail.
    package func fail(_ fault: Fault, after count: Int = 1) {
        state.withLock { $0.script[$0.requests + count] = fault }
    }

    /// Makes every request fail until nil is given.
    package func failAlways(_ fault: Fault?) { state.withLock { $0.constant = fault } }

    /// Refuses to complete the next `count` uploads.
    package func refuseCompletions(_ count: Int) {
        state.withLock { $0.refusedCompletions = count }
    }

    /// Answers each request of a kind for a segment with an error, without effect, until nil is given.
    package func answer(_ operation: Operation, with kind: ObjectStoreError.Kind?) {
        state.withLock { $0.answers[operation] = kind }
    }

    /// Makes one request in `count` fail, from a seed.
    package func failAtRandom(_ seed: UInt64, oneIn count: UInt64, _ faults: [Fault]) {
        state.withLock { state in
            state.random = SeededGenerator(seed: seed)
            state.faultOneIn = count
            state.randomFaults = faults
        }
    }

    package func failNoMore() {
        state.withLock { state in
            state.random = nil
            state.constant = nil
            state.script = [:]
        }
    }

    /// Deletes an object as another client would.
    package func lose(_ key: String) { state.withLock { _ = $0.objects.removeValue(forKey: key) } }

    /// Writes an object as another client would.
    package func replace(_ key: String, with bytes: [UInt8]) {
        state.withLock { state in
            state.latest += 1
            state.objects[key] = Object(
                bytes: bytes, tag: "\"other-\(state.latest)\"", metadata: [:])
        }
    }

    /// Flips a bit of an object and keeps its tag.
    package func rot(_ key: String) {
        state.withLock { state in
            guard var object = state.objects[key], !object.bytes.isEmpty else { return }
            object.bytes[object.bytes.count / 2] ^= 1
            state.objects[key] = object
        }
    }

    // MARK: ObjectBucket

    package func list(
        prefix: String, after: String?, folders: Bool
    ) throws(ObjectStoreError) -> ObjectPage {
        beforeList()
        return try request { state, _ throws(ObjectStoreError) in
            let keys = state.objects.keys.filter {
                $0.hasPrefix(prefix) && $0 > after ?? ""
            }.sorted()
            var entries: [ObjectPage.Entry] = []
            for key in keys {
                let rest = key.dropFirst(prefix.count)
                if folders, let slash = rest.firstIndex(of: "/") {
                    let folder = prefix + rest[...slash]
                    guard entries.last?.key != folder else { continue }
                    entries.append(
                        ObjectPage.Entry(
                            key: folder, isFolder: true, sizeBytes: 0, tag: "",
                            modifiedNanoseconds: nil))
                } else if let object = state.objects[key] {
                    entries.append(
                        ObjectPage.Entry(
                            key: key, isFolder: false, sizeBytes: Int64(object.bytes.count),
                            tag: object.tag, modifiedNanoseconds: nil))
                }
            }
            return ObjectPage(entries: Array(entries.prefix(3)), isTruncated: entries.count > 3)
        }
    }

    package func properties(of key: String) throws(ObjectStoreError) -> ObjectProperties? {
        try request { state, _ throws(ObjectStoreError) in
            state.objects[key].map(Self.properties)
        }
    }

    package func read(
        _ key: String, range: Range<Int64>, tag: String?
    ) throws(ObjectStoreError) -> [UInt8] {
        try request { state, _ throws(ObjectStoreError) in
            try Self.check(.read, key, state)
            guard let object = state.objects[key] else { throw Self.error(.gone, "read \(key)") }
            guard tag == nil || tag == object.tag else {
                throw Self.error(.changed, "read \(key)")
            }
            guard range.upperBound <= Int64(object.bytes.count) else {
                throw Self.error(.refused, "read behind the end of \(key)")
            }
            return Array(object.bytes[Int(range.lowerBound)..<Int(range.upperBound)])
        }
    }

    package func presignedAddress(
        of key: String, validSeconds: Int, contentType: String
    ) throws(ObjectStoreError) -> String {
        "https://store.test/\(key)?valid=\(validSeconds)&type=\(contentType)"
    }

    package func put(
        _ bytes: ObjectBytes, at key: String, digest: ObjectDigest, condition: PutCondition
    ) throws(ObjectStoreError) -> ObjectProperties {
        let bytes = bytes.withUnsafeBytes { Array($0) }
        return try request(bytes: bytes.count) { state, fault throws(ObjectStoreError) in
            try Self.check(.put, key, state)
            try Self.check(bytes, digest, fault, key)
            try Self.check(condition, key, state)
            return Self.properties(
                Self.make(key, Self.rotten(bytes, fault), Self.tag(bytes), [:], &state))
        }
    }

    package func beginUpload(
        of key: String, metadata: [String: String]
    ) throws(ObjectStoreError) -> String {
        try request { state, _ throws(ObjectStoreError) in
            state.latest += 1
            state.begunUploads += 1
            let name = "upload-\(state.latest)"
            state.uploads[name] = Upload(key: key, metadata: metadata)
            return name
        }
    }

    package func putPart(
        _ number: Int, of upload: String, key: String, bytes: ObjectBytes, digest: ObjectDigest
    ) throws(ObjectStoreError) -> UploadedPart {
        beforePart(number)
        let (returnsDigests, bytes) = (returnsDigests, bytes.withUnsafeBytes { Array($0) })
        return try request(bytes: bytes.count) { state, fault throws(ObjectStoreError) in
            try Self.check(.putPart, key, state)
            guard state.uploads[upload]?.key == key else {
                throw Self.error(.gone, "put part \(number) of \(key)")
            }
            try Self.check(bytes, digest, fault, key)
            state.uploads[upload]?.parts[number] = Part(
                bytes: Self.rotten(bytes, fault), tag: Self.tag(bytes))
            state.parts += 1
            return UploadedPart(
                number: number, sizeBytes: Int64(bytes.count), tag: Self.tag(bytes),
                digest: returnsDigests ? digest : nil)
        }
    }

    package func parts(
        of upload: String, key: String
    ) throws(ObjectStoreError) -> [UploadedPart]? {
        let listsDigests = listsDigests
        return try request { state, _ throws(ObjectStoreError) in
            state.uploads[upload]?.parts.sorted { $0.key < $1.key }.map { number, part in
                UploadedPart(
                    number: number, sizeBytes: Int64(part.bytes.count), tag: part.tag,
                    digest: listsDigests
                        ? ObjectDigest(sha256: Digest(of: part.bytes).bytes) : nil)
            }
        }
    }

    package func completeUpload(
        _ upload: String, key: String, parts: [UploadedPart], condition: PutCondition
    ) throws(ObjectStoreError) -> ObjectProperties {
        let returnsDigests = returnsDigests
        return try request { state, _ throws(ObjectStoreError) in
            try Self.check(.complete, key, state)
            guard let found = state.uploads[upload], found.key == key else {
                throw Self.error(.gone, "complete \(key)")
            }
            if state.refusedCompletions > 0 {
                state.refusedCompletions -= 1
                throw Self.error(.refused, "complete \(key)")
            }
            try Self.check(condition, key, state)
            var bytes: [UInt8] = []
            for part in parts {
                guard let content = found.parts[part.number], content.tag == part.tag,
                    !returnsDigests
                        || part.digest?.sha256 == Digest(of: content.bytes).bytes
                else {
                    throw Self.error(.refused, "complete \(key) with part \(part.number)")
                }
                bytes += content.bytes
            }
            state.uploads[upload] = nil
            let tag = "\(Self.tag(bytes).dropLast())-\(parts.count)\""
            return Self.properties(Self.make(key, bytes, tag, found.metadata, &state))
        }
    }

    package func abandonUpload(_ upload: String, key: String) throws(ObjectStoreError) {
        try request { state, _ throws(ObjectStoreError) in
            state.uploads[upload] = nil
        }
    }

    package func delete(_ key: String) throws(ObjectStoreError) {
        try request { state, _ throws(ObjectStoreError) in
            state.deleted.append(key)
            state.objects[key] = nil
        }
    }

    // MARK: Requests and their faults

    /// One request, with its fault before or after its effect.
    private func request<Answer>(
        bytes: Int = 0,
        _ body: (inout State, Fault?) throws(ObjectStoreError) -> Answer
    ) throws(ObjectStoreError) -> Answer {
        let outcome = state.withLock { state -> Result<Answer, ObjectStoreError> in
            state.requests += 1
            state.largestBytes = max(state.largestBytes, bytes)
            let fault = Self.fault(&state)
            if let error = fault.flatMap(Self.refusal) { return .failure(error) }
            if fault == .uploadsGone { state.uploads = [:] }
            do throws(ObjectStoreError) {
                let answer = try body(&state, fault)
                if fault == .lostAnswer {
                    return .failure(Self.error(.unreachable, "hear the answer"))
                }
                return .success(answer)
            } catch {
                return .failure(error)
            }
        }
        return try outcome.get()
    }

    private static func fault(_ state: inout State) -> Fault? {
        if let fault = state.script.removeValue(forKey: state.requests) { return fault }
        if let constant = state.constant { return constant }
        guard var random = state.random, !state.randomFaults.isEmpty else { return nil }
        defer { state.random = random }
        guard random.next() % state.faultOneIn == 0 else { return nil }
        return state.randomFaults[Int(random.next() % UInt64(state.randomFaults.count))]
    }

    /// Faults without effect.
    private static func refusal(_ fault: Fault) -> ObjectStoreError? {
        switch fault {
        case .serverError, .slowDown: error(.busy, "do anything now")
        case .cut: error(.unreachable, "send the request")
        case .full: error(.full, "keep more")
        case .denied: error(.denied, "let that key in")
        case .clock: error(.clock, "believe the clock")
        case .bucketGone: error(.noBucket, "find the bucket")
        case .refused: error(.refused, "take that")
        case .lostAnswer, .wrongDigest, .uploadsGone, .rot: nil
        }
    }

    private static func error(_ kind: ObjectStoreError.Kind, _ what: String) -> ObjectStoreError {
        ObjectStoreError(kind, "the simulated store cannot \(what)")
    }

    private static func check(
        _ bytes: [UInt8], _ digest: ObjectDigest, _ fault: Fault?, _ key: String
    ) throws(ObjectStoreError) {
        guard fault != .wrongDigest, Digest(of: bytes).bytes == digest.sha256 else {
            throw error(.digest, "take other bytes for \(key)")
        }
    }

    private static func check(
        _ condition: PutCondition, _ key: String, _ state: State
    ) throws(ObjectStoreError) {
        switch condition {
        case .none: break
        case .absent:
            if state.objects[key] != nil { throw error(.exists, "make \(key) twice") }
        case .tag(let tag):
            if state.objects[key]?.tag != tag { throw error(.changed, "replace another \(key)") }
        }
    }

    private static func check(
        _ operation: Operation, _ key: String, _ state: State
    ) throws(ObjectStoreError) {
        guard let kind = state.answers[operation], key.hasSuffix(".mp4") else { return }
        throw error(kind, "\(operation) \(key)")
    }

    private static func make(
        _ key: String, _ bytes: [UInt8], _ tag: String, _ metadata: [String: String],
        _ state: inout State
    ) -> Object {
        let object = Object(bytes: bytes, tag: tag, metadata: metadata)
        state.objects[key] = object
        state.made[key, default: 0] += 1
        return object
    }

    private static func rotten(_ bytes: [UInt8], _ fault: Fault?) -> [UInt8] {
        guard fault == .rot, let first = bytes.first else { return bytes }
        return [first ^ 1] + bytes.dropFirst()
    }

    private static func tag(_ bytes: [UInt8]) -> String {
        "\"\(ByteText.hexadecimal(HashFunction.md5.hash(bytes)))\""
    }

    private static func properties(_ object: Object) -> ObjectProperties {
        ObjectProperties(
            sizeBytes: Int64(object.bytes.count), tag: object.tag, metadata: object.metadata)
    }
}
