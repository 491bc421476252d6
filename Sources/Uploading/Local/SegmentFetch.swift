import Archive
import CLinux
import Glibc
import ObjectStore

/// Downloads a segment's media, and verifies each part against its proof.
///
/// The file is renamed when it is complete and durable, and gets the modification time in its proof, so that the proof is
/// valid for it and it can be evicted again without another upload.
struct SegmentFetch {
    private let place: UploadTarget

    init(from place: UploadTarget) { self.place = place }

    /// Fetches a segment that is not on the disk.
    /// - Throws: ``UploadError/setAside(_:)`` where the store has something else than was proven.
    func run(_ segment: SegmentKey, _ proof: SegmentProof) throws(UploadError) {
        let path = place.layout.segment(segment)
        let unfinished = SegmentCompanion.fetching.path(of: path)
        do throws(UploadError) {
            try fetch(segment, proof, to: path, unfinished)
        } catch {
            try place.disk { () throws(ArchiveError) in
                try FileSystem.remove(unfinished, on: place.layout.disk)
            }
            throw error
        }
    }

    private func fetch(
        _ segment: SegmentKey, _ proof: SegmentProof, to path: String, _ unfinished: String
    ) throws(UploadError) {
        let disk = place.layout.disk
        let key = segment.description
        let file = try place.disk { () throws(ArchiveError) in
            try FileSystem.remove(unfinished, on: disk)
            return try RecordingFile(creating: unfinished, on: disk)
        }
        for index in proof.parts.indices {
            try check()
            let range = proof.range(ofPart: index)
            try place.pace(range.count)
            let bytes = try place.store { (bucket) throws(ObjectStoreError) in
                range.isEmpty ? [] : try bucket.read(key, range: range, tag: nil)
            }
            guard Digest(of: bytes).description == proof.parts[index] else {
                throw .setAside(
                    "\(place.bucket.name)/\(key) is damaged: bytes \(range.lowerBound) to \(range.upperBound) are not what was proven"
                )
            }
            try place.disk { () throws(ArchiveError) in
                try file.append(bytes)
                file.startWriteback()
            }
        }
        try place.disk { () throws(ArchiveError) in
            try file.synchronize()
            try Self.setModified(file.readDescriptor, path, proof.modifiedNanoseconds)
            try file.rename(to: path)
            try FileSystem.synchronizeDirectory(
                place.layout.source(segment.owner), on: disk)
        }
    }

    private func check() throws(UploadError) {
        do throws(UploadStop) {
            try place.surroundings.checkpoint(.readBack)
        } catch {
            throw .stopped
        }
    }

    private static func setModified(
        _ descriptor: Int32, _ path: String, _ nanoseconds: Int64
    ) throws(ArchiveError) {
        var seconds = nanoseconds / 1_000_000_000
        var rest = nanoseconds % 1_000_000_000
        if rest < 0 {
            seconds -= 1
            rest += 1_000_000_000
        }
        let time = timespec(tv_sec: Int(seconds), tv_nsec: Int(rest))
        let times = [time, time]
        guard futimens(descriptor, times) == 0 else {
            throw .system(operation: "set the time of", path: path, errno: errno)
        }
    }
}
