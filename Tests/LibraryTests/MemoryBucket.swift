import Archive
import Foundation
import Library
import ObjectStore
import Recordings
import Synchronization

/// A bucket in memory that counts requests and fails on request.
final class MemoryBucket: ObjectBucket {
    private struct State {
        var objects: [String: [UInt8]] = [:]
        var requests = 0
        var readBytes = 0
        var failures: [ObjectStoreError.Kind] = []
        var pages = 1_000
    }

    private let state = Mutex(State())

    let name = "s3://bucket/prefix"

    /// Number of requests, and bytes of objects that were sent for them.
    var traffic: (requests: Int, readBytes: Int) {
        state.withLock { ($0.requests, $0.readBytes) }
    }

    /// The next requests fail, one for each.
    func fail(_ kinds: [ObjectStoreError.Kind]) { state.withLock { $0.failures = kinds } }

    /// Entries of a page of a listing.
    func setPageSize(_ count: Int) { state.withLock { $0.pages = count } }

    func add(_ bytes: [UInt8], at key: String) { state.withLock { $0.objects[key] = bytes } }

    /// Adds the files of an archive's sessions.
    func add(_ layout: ArchiveLayout) throws {
        let root = URL(filePath: layout.sessions).resolvingSymlinksInPath().path + "/"
        let files = FileManager.default.enumerator(atPath: root)
        while let path = files?.nextObject() as? String {
            var isFolder: ObjCBool = false
            _ = FileManager.default.fileExists(atPath: root + path, isDirectory: &isFolder)
            guard !isFolder.boolValue else { continue }
            add(Array(try Data(contentsOf: URL(filePath: root + path))), at: path)
        }
    }

    private func begin() throws(ObjectStoreError) {
        let kind = state.withLock { state -> ObjectStoreError.Kind? in
            state.requests += 1
            return state.failures.isEmpty ? nil : state.failures.removeFirst()
        }
        if let kind { throw ObjectStoreError(kind, "\(name): cannot do it: the store is \(kind)") }
    }

    private static func tag(_ bytes: [UInt8]) -> String { "\"\(Digest(of: bytes))\"" }

    func list(
        prefix: String, after: String?, folders: Bool
    ) throws(ObjectStoreError) -> ObjectPage {
        try begin()
        return state.withLock { state in
            var entries: [ObjectPage.Entry] = []
            var known: Set<String> = []
            for (key, bytes) in state.objects.sorted(by: { $0.key < $1.key })
            where key.hasPrefix(prefix) {
                let rest = key.dropFirst(prefix.count)
                if folders, let slash = rest.firstIndex(of: "/") {
                    let folder = prefix + rest[...slash]
                    guard known.insert(folder).inserted else { continue }
                    entries.append(
                        ObjectPage.Entry(
                            key: folder, isFolder: true, sizeBytes: 0, tag: "",
                            modifiedNanoseconds: nil))
                } else {
                    entries.append(
                        ObjectPage.Entry(
                            key: key, isFolder: false, sizeBytes: Int64(bytes.count),
                            tag: Self.tag(bytes), modifiedNanoseconds: 1))
                }
            }
            if let after { entries.removeAll { $0.key <= after } }
            return ObjectPage(
                entries: Array(entries.prefix(state.pages)),
                isTruncated: entries.count > state.pages)
        }
    }

    func properties(of key: String) throws(ObjectStoreError) -> ObjectProperties? {
        try begin()
        return state.withLock { $0.objects[key] }.map {
            ObjectProperties(sizeBytes: Int64($0.count), tag: Self.tag($0))
        }
    }

    func read(
        _ key: String, range: Range<Int64>, tag: String?
    ) throws(ObjectStoreError) -> [UInt8] {
        try begin()
        guard let bytes = state.withLock({ $0.objects[key] }) else {
            throw ObjectStoreError(.gone, "\(name): \(key) is gone")
        }
        guard tag == nil || tag == Self.tag(bytes), range.upperBound <= bytes.count else {
            throw ObjectStoreError(.changed, "\(name): \(key) is another one")
        }
        state.withLock { $0.readBytes += range.count }
        return Array(bytes[Int(range.lowerBound)..<Int(range.upperBound)])
    }

    func presignedAddress(
        of key: String, validSeconds: Int, contentType: String
    ) throws(ObjectStoreError) -> String {
        "https://store.test/\(key)?valid=\(validSeconds)&type=\(contentType)"
    }

    func put(
        _ bytes: ObjectBytes, at key: String, digest: ObjectDigest, condition: PutCondition
    ) throws(ObjectStoreError) -> ObjectProperties {
        let bytes = bytes.withUnsafeBytes { Array($0) }
        try begin()
        guard digest.sha256 == Digest(of: bytes).bytes else {
            throw ObjectStoreError(.digest, "\(name): other bytes")
        }
        add(bytes, at: key)
        return ObjectProperties(sizeBytes: Int64(bytes.count), tag: Self.tag(bytes))
    }

    func delete(_ key: String) throws(ObjectStoreError) {
        try begin()
        _ = state.withLock { $0.objects.removeValue(forKey: key) }
    }

    // Readers make no uploads.

    func beginUpload(
        of key: String, metadata: [String: String]
    ) throws(ObjectStoreError) -> String { throw ObjectStoreError(.refused, "no uploads") }

    func putPart(
        _ number: Int, of upload: String, key: String, bytes: ObjectBytes, digest: ObjectDigest
    ) throws(ObjectStoreError) -> UploadedPart { throw ObjectStoreError(.refused, "no uploads") }

    func parts(
        of upload: String, key: String
    ) throws(ObjectStoreError) -> [UploadedPart]? { nil }

    func completeUpload(
        _ upload: String, key: String, parts: [UploadedPart], condition: PutCondition
    ) throws(ObjectStoreError) -> ObjectProperties {
        throw ObjectStoreError(.refused, "no uploads")
    }

    func abandonUpload(_ upload: String, key: String) throws(ObjectStoreError) {}
}
