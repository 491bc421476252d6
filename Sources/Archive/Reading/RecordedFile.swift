import CLinux
import Glibc
package import Media
import MP4

/// One file of a recording, open for reading: finished, or growing while it is read.
///
/// Any thread may read. The descriptor is closed with the last reference, so that a file that is removed meanwhile can be read to
/// its end.
package final class RecordedFile: Sendable {
    package let path: String
    /// Whether it was an ordinary MP4 when it was opened.
    package let isFinished: Bool
    /// How its tracks are coded: one format for each kind.
    package let formats: [TrackFormat]
    /// Its beginning on the session's timeline, nanoseconds; nil while nothing is in it.
    package let originNanoseconds: Int64?
    /// Of the session it is part of; nil while nothing is in it.
    package let sessionZero: UTCTime?

    let layout: RecordingLayout
    /// How its times were computed again, if they were.
    let retiming: RetimingRecord?
    private let descriptor: Int32

    /// Opens a recording.
    /// - Throws: also for what is no recording of ours, or one whose beginning is damaged.
    package init(opening path: String) throws(ArchiveError) {
        self.path = path
        let descriptor = CLinux_open(path, O_RDONLY | O_CLOEXEC, 0)
        guard descriptor >= 0 else {
            throw .system(operation: "open", path: path, errno: errno)
        }
        let beginning: Beginning
        do throws(ArchiveError) {
            beginning = try Beginning(descriptor, path: path)
        } catch {
            close(descriptor)
            throw error
        }
        self.descriptor = descriptor
        layout = beginning.layout
        isFinished = beginning.layout.isFinished
        formats = beginning.layout.initialMovie.tracks.compactMap(\.format)
        retiming = beginning.retiming
        originNanoseconds = beginning.record?.segmentOriginNanoseconds
        sessionZero = beginning.record?.sessionZero
    }

    deinit {
        close(descriptor)
    }

    /// How a track is coded; nil when the file has none of this kind.
    package func format(_ kind: TrackKind) -> TrackFormat? { formats.first { $0.kind == kind } }

    /// The file as it is now.
    func source() throws(ArchiveError) -> DescriptorSource {
        do throws(MP4Error) {
            return try DescriptorSource(descriptor: descriptor)
        } catch {
            throw Self.error(error, path: path)
        }
    }

    /// Exactly `count` bytes from `offset` on.
    package func read(at offset: Int64, count: Int) throws(ArchiveError) -> [UInt8] {
        do throws(MP4Error) {
            return try DescriptorSource(descriptor: descriptor).read(at: offset, count: count)
        } catch {
            throw Self.error(error, path: path)
        }
    }

    /// Fills memory with the bytes from `offset` on.
    package func read(
        at offset: Int64, into buffer: UnsafeMutableRawBufferPointer
    ) throws(ArchiveError) {
        var filled = 0
        while filled < buffer.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
            let got = pread(descriptor, rest.baseAddress, rest.count, off_t(offset) + filled)
            if got < 0, errno == EINTR { continue }
            guard got >= 0 else { throw .system(operation: "read", path: path, errno: errno) }
            guard got > 0 else {
                throw .malformed(path: path, reason: "ends at byte \(offset + Int64(filled))")
            }
            filled += got
        }
    }

    /// A reader's error, with the file's name.
    static func error(_ error: MP4Error, path: String) -> ArchiveError {
        switch error {
        case .unreadable(_, let code): .system(operation: "read", path: path, errno: code)
        case .notARecording(_, let reason):
            .malformed(
                path: path,
                reason:
                    "is not a recorded segment (\(reason)); 'tributary import' and 'remux' take other files"
            )
        default: .malformed(path: path, reason: "\(error)")
        }
    }
}

/// What a file says of itself before its samples.
private struct Beginning {
    let layout: RecordingLayout
    let retiming: RetimingRecord?
    /// Of the first fragment.
    let record: FragmentRecord?

    init(_ descriptor: Int32, path: String) throws(ArchiveError) {
        do throws(MP4Error) {
            let source = try DescriptorSource(descriptor: descriptor)
            guard source.sizeBytes > 0 else {
                throw .notARecording(offset: 0, reason: "it is empty")
            }
            var scanner = try FragmentScanner(source)
            layout = scanner.layout
            retiming = try Self.retiming(source, layout)
            guard let first = try scanner.next() else {
                if case .damaged(let error) = scanner.stop { throw error }
                record = nil
                return
            }
            guard let read = FragmentRecord(of: first) else {
                throw .invalid(
                    box: "moof", offset: first.moof.lowerBound,
                    reason: "no readable record of where the fragment is from")
            }
            record = read
        } catch {
            throw RecordedFile.error(error, path: path)
        }
    }

    /// Looks for the mapping at the end of the index in force, without reading its tables.
    private static func retiming(
        _ source: DescriptorSource, _ layout: RecordingLayout
    ) throws(MP4Error) -> RetimingRecord? {
        guard layout.isFinished, !layout.isCutShort else { return nil }
        var boxes = BoxReader(source, in: layout.fragments.upperBound..<source.sizeBytes)
        guard let index = try boxes.next(), index.type == "moov" else { return nil }
        var children = BoxReader(source, in: index.payload)
        while let child = try children.next() {
            guard child.type == "uuid" else { continue }
            let type = try source.read(at: child.payloadOffset - 16, count: 16)
            guard type == RetimingRecord.userType else { continue }
            let payload = try source.read(
                at: child.payloadOffset, count: Int(child.end - child.payloadOffset))
            do throws(MalformedRecord) {
                return try RetimingRecord(parsing: payload)
            } catch {
                throw .invalid(
                    box: child.type, offset: child.offset,
                    reason: "the record of its retiming is \(error)")
            }
        }
        return nil
    }
}

extension FragmentRecord {
    /// The record that a fragment carries; nil when there is none that can be read.
    init?(of fragment: ScannedFragment) {
        let payloads = fragment.userBoxes.filter { $0.userType == Self.userType }
        guard let payload = payloads.first?.payload, payloads.count == 1 else { return nil }
        do throws(Malformed) {
            self = try FragmentRecord(parsing: payload)
        } catch {
            // Who reads media goes on without; `verify` says what is wrong.
            return nil
        }
    }
}
