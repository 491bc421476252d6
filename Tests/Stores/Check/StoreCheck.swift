import Archive
import ArgumentParser
import Foundation
import Hashing
import Library
import ObjectStore
import Recordings
import Terminal
import Threads

/// Uploads archives to an object store and checks that it behaves as the client requires. For tests only.
@main
struct StoreCheck: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "store-check",
        abstract: "Checks an object store with Tributary's client.",
        subcommands: [Put.self, Promises.self])

    static func main() { Program.main(StoreCheck.self) }

    /// Bytes of a part: the smallest that stores take, so that short recordings have several.
    static let partBytes = S3Bucket.Limits.minimumPartBytes

    static func digest(_ bytes: [UInt8]) -> ObjectDigest {
        ObjectDigest(sha256: HashFunction.sha256.hash(bytes))
    }

    static func bucket(_ options: StoreOptions) throws -> any ObjectBucket {
        guard let store = options.store else {
            throw UsageError("--store is missing: give s3://BUCKET/PREFIX")
        }
        let address = try options.address(store)
        do throws(ObjectStoreError) {
            return try address.open(patience: .writing, shutdown: Shutdown())
        } catch {
            throw Failure(error.message)
        }
    }

    /// Puts an object in parts.
    static func upload(_ bytes: [UInt8], to key: String, in bucket: any ObjectBucket) throws {
        let upload = try bucket.beginUpload(of: key, metadata: ["parts": "\(partBytes)"])
        var sent: [UploadedPart] = []
        for start in stride(from: 0, to: bytes.count, by: partBytes) {
            let part = Array(bytes[start..<min(bytes.count, start + partBytes)])
            sent.append(
                try bucket.putPart(
                    sent.count + 1, of: upload, key: key, bytes: ObjectBytes(part),
                    digest: digest(part)))
        }
        let known = try bucket.parts(of: upload, key: key)
        guard let known, known.map(\.number) == sent.map(\.number),
            known.map(\.sizeBytes) == sent.map(\.sizeBytes), known.map(\.tag) == sent.map(\.tag)
        else { throw Failure("\(key): the store lists other parts than were sent") }
        _ = try bucket.completeUpload(upload, key: key, parts: sent, condition: .absent)
        let there = try bucket.properties(of: key)
        guard there?.sizeBytes == Int64(bytes.count), there?.metadata["parts"] == "\(partBytes)"
        else { throw Failure("\(key): the store tells \(String(describing: there))") }
    }
}

/// `store-check put DIR`: the sessions of an archive.
struct Put: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Uploads the sessions of an archive's directory.")

    @OptionGroup var store: StoreOptions

    @Argument(help: "Directory of the recordings.")
    var archive: String

    func run() throws {
        let bucket = try StoreCheck.bucket(store)
        let root = ArchiveLayout(root: archive).sessions
        var count = 0
        do {
            for key in try FileManager.default.subpathsOfDirectory(atPath: root).sorted() {
                guard !FileSystem.isDirectory("\(root)/\(key)") else { continue }
                let bytes = Array(try Data(contentsOf: URL(filePath: "\(root)/\(key)")))
                if bytes.count > StoreCheck.partBytes {
                    try StoreCheck.upload(bytes, to: key, in: bucket)
                } else {
                    _ = try bucket.put(
                        bytes, at: key, digest: StoreCheck.digest(bytes), condition: .none)
                }
                count += 1
            }
        } catch let error as ObjectStoreError {
            throw Failure(error.message)
        }
        print("\(count) objects in \(bucket.name)")
    }
}

/// `store-check promises`: a line for each check. Missing optional behaviour is reported; missing required behaviour is
/// an error.
struct Promises: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Checks what the client relies on, in a prefix of its own.")

    @OptionGroup var store: StoreOptions

    private static func kind(
        _ work: () throws(ObjectStoreError) -> Void
    ) -> ObjectStoreError.Kind? {
        do throws(ObjectStoreError) {
            try work()
            return nil
        } catch {
            return error.kind
        }
    }

    private static func expect(
        _ what: String, _ found: ObjectStoreError.Kind?, _ allowed: [ObjectStoreError.Kind?]
    ) throws {
        let text = found.map { "\($0)" } ?? "done"
        guard allowed.contains(found) else { throw Failure("\(what): \(text)") }
        print("\(what): \(text)")
    }

    func run() throws {
        let bucket = try StoreCheck.bucket(store)
        do {
            try small(bucket)
            try large(bucket)
            try listing(bucket)
        } catch let error as ObjectStoreError {
            throw Failure(error.message)
        }
    }

    private func small(_ bucket: any ObjectBucket) throws {
        let (bytes, other) = (Array("one".utf8), Array("two".utf8))
        let digest = StoreCheck.digest(bytes)
        let put = try bucket.put(bytes, at: "check/small", digest: digest, condition: .absent)
        try Self.expect(
            "a second put of an absent object",
            Self.kind { () throws(ObjectStoreError) in
                _ = try bucket.put(bytes, at: "check/small", digest: digest, condition: .absent)
            }, [.exists])
        try Self.expect(
            "other bytes than their digest",
            Self.kind { () throws(ObjectStoreError) in
                _ = try bucket.put(other, at: "check/wrong", digest: digest, condition: .none)
            }, [.digest])
        try Self.expect(
            "a put over another tag",
            Self.kind { () throws(ObjectStoreError) in
                _ = try bucket.put(
                    other, at: "check/small", digest: StoreCheck.digest(other),
                    condition: .tag("\"0123456789abcdef0123456789abcdef\""))
            }, [.changed])
        let replaced = try bucket.put(
            other, at: "check/small", digest: StoreCheck.digest(other), condition: .tag(put.tag))
        try Self.expect(
            "a read of what was replaced",
            Self.kind { () throws(ObjectStoreError) in
                _ = try bucket.read("check/small", range: 0..<3, tag: put.tag)
            }, [.changed])
        guard try bucket.read("check/small", range: 1..<3, tag: replaced.tag) == [0x77, 0x6F] else {
            throw Failure("a range has other bytes")
        }
        try bucket.delete("check/small")
        try bucket.delete("check/small")
        guard try bucket.properties(of: "check/small") == nil else {
            throw Failure("an object is there after it was deleted")
        }
        print("ranges, tags and deletion: right")
    }

    private func large(_ bucket: any ObjectBucket) throws {
        let bytes = (0..<(2 * StoreCheck.partBytes + 1)).map { UInt8(truncatingIfNeeded: $0 / 7) }
        try StoreCheck.upload(bytes, to: "check/large", in: bucket)
        let part = Array(bytes[..<StoreCheck.partBytes])
        let upload = try bucket.beginUpload(of: "check/large", metadata: [:])
        try Self.expect(
            "a part of other bytes than its digest",
            Self.kind { () throws(ObjectStoreError) in
                _ = try bucket.putPart(
                    1, of: upload, key: "check/large", bytes: ObjectBytes(part),
                    digest: StoreCheck.digest([1]))
            }, [.digest])
        let sent = try bucket.putPart(
            1, of: upload, key: "check/large", bytes: ObjectBytes(part),
            digest: StoreCheck.digest(part))
        // Not every store checks, so an uploader checks first.
        try Self.expect(
            "completing over an object",
            Self.kind { () throws(ObjectStoreError) in
                _ = try bucket.completeUpload(
                    upload, key: "check/large", parts: [sent], condition: .absent)
            }, [.exists, nil])
        try bucket.abandonUpload(upload, key: "check/large")
        try Self.expect(
            "parts of an upload that is gone",
            try bucket.parts(of: upload, key: "check/large") == nil ? .gone : nil, [.gone])
        try bucket.delete("check/large")
    }

    private func listing(_ bucket: any ObjectBucket) throws {
        let digest = StoreCheck.digest([])
        let keys = ["check/a/1", "check/a/2", "check/b", "check/c/1"]
        for key in keys { _ = try bucket.put([], at: key, digest: digest, condition: .none) }
        let all = try bucket.list(prefix: "check/", after: nil, folders: false).entries.map(\.key)
        let folders = try bucket.list(prefix: "check/", after: nil, folders: true).entries.map(
            \.key)
        let behind = try bucket.list(prefix: "check/", after: "check/a/", folders: true).entries
            .map(\.key)
        for key in keys { try bucket.delete(key) }
        guard all == keys, folders == ["check/a/", "check/b", "check/c/"],
            behind == ["check/b", "check/c/"]
        else { throw Failure("listings differ: \(all), \(folders), \(behind)") }
        print("listings: right")
    }
}
