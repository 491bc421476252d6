package import Archive
import Containers
import Devices
import Encoding
package import Recordings
import Media

/// Checks that every picture of a recorded file decodes from each access point: `tributary verify --decode`.
///
/// Each group of pictures has its own decoder, with the file's description and no earlier pictures. A picture that is
/// presented before its group's first one, and decoded after it, refers to the previous group (open groups): the
/// decoder of that group decodes it. Hidden pictures are not expected.
///
/// Pictures before a file's first access point decode after the previous file only, if that one ends with their group: a
/// recorder that could not continue a file begins the next one between two access points. A file without any access point is
/// damage.
package struct DecodingCheck {
    /// The result for a file.
    package struct Result: Hashable, Sendable {
        package var pictures = 0
        package var syncPictures = 0
        package var undecodable = 0
        /// Pictures before the first access point; not counted in ``pictures``.
        package var leading = 0
        /// Session time of the first undecodable picture, nanoseconds; nil if there is none.
        package var firstNanoseconds: Int64?

        package init() {}
    }

    private let track: CodedTrack
    private let control: WorkControl
    private var result = Result()
    /// The present group, and the previous one while it may still get pictures.
    private var group: Group?
    private var last: Group?

    /// The pictures from one random access point to the next, with their decoder.
    private final class Group {
        let startNanoseconds: Int64
        private var decoder: VideoDecoder
        /// The number of expected pictures by their times: several may have one time.
        private var expected: [Int64: Int] = [:]

        init(_ track: CodedTrack, startNanoseconds: Int64) throws(EncodingError) {
            self.startNanoseconds = startNanoseconds
            decoder = try VideoDecoder(track, threads: 1, isStrict: true)
        }

        func decode(_ packet: CodedPacket, isExpected: Bool) throws(EncodingError) {
            if isExpected {
                expected[packet.ptsNanoseconds ?? packet.dtsNanoseconds, default: 0] += 1
            }
            do throws(EncodingError) {
                try decoder.decode(packet) { frame throws(EncodingError) in got(frame) }
            } catch .damagedPacket {
                // Its picture remains expected.
            }
        }

        /// The times of the missing pictures.
        func finish() throws(EncodingError) -> [Int64] {
            do throws(EncodingError) {
                try decoder.finish { frame throws(EncodingError) in got(frame) }
            } catch .damagedPacket {
                // As above.
            }
            return expected.flatMap { Array(repeating: $0.key, count: $0.value) }
        }

        private func got(_ frame: RawFrame) {
            let time = frame.captureNanoseconds
            if let count = expected[time] { expected[time] = count > 1 ? count - 1 : nil }
        }
    }

    private init(_ track: CodedTrack, _ control: WorkControl) {
        self.track = track
        self.control = control
    }

    /// Decodes a file's pictures; returns the errors as findings. A file without video has none.
    package static func findings(
        in file: RecordedFile, control: WorkControl
    ) throws -> [Finding] {
        guard let result = try check(file, control: control) else { return [] }
        return findings(result, file.path)
    }

    /// Decodes the pictures of a foreign file, with the access points of its bitstream.
    package static func findings(
        inForeign path: String, control: WorkControl
    ) throws -> [Finding] {
        var source: FileSource
        do throws(DeviceError) {
            source = try FileSource(path: path, kinds: [.video], loops: false)
        } catch .noTrack {
            return []
        }
        var check = DecodingCheck(source.tracks[0], control)
        while let packet = try source.next() {
            try check.take(packet, isHidden: packet.isDiscarded)
        }
        try check.finish()
        return findings(check.result, path)
    }

    private static func findings(_ result: Result, _ path: String) -> [Finding] {
        let text: String
        if result.undecodable > 0 {
            let milliseconds = (result.firstNanoseconds ?? 0) / 1_000_000
            text =
                "\(result.undecodable) of \(result.pictures) pictures do not decode, the first at \(milliseconds) ms of the session"
            return [Finding(.damage, path, text)]
        }
        guard result.syncPictures > 0 || result.leading == 0 else {
            text = "none of its \(result.leading) pictures is one at which decoding can start"
            return [Finding(.damage, path, text)]
        }
        text =
            "\(result.pictures) pictures decode, from each of \(result.syncPictures) at which decoding can start"
        guard result.leading > 0 else { return [Finding(.note, path, text)] }
        return [
            Finding(.note, path, text),
            Finding(
                .note, path,
                "\(result.leading) pictures before the first of them were not decoded: they need the previous file"
            ),
        ]
    }

    /// Decodes a file's pictures; nil without video.
    package static func check(_ file: RecordedFile, control: WorkControl) throws -> Result? {
        guard let format = file.format(.video) else { return nil }
        var check = DecodingCheck(try CodedTrack(format), control)
        var cursor = try FileCursor(file)
        while let fragment = try cursor.next() {
            for sample in fragment.samples where sample.track == .video {
                if check.result.syncPictures == 0, !sample.flags.contains(.keyframe) {
                    try control.check()
                    if !sample.flags.contains(.priming) { check.result.leading += 1 }
                    continue
                }
                try check.take(sample.packet(), isHidden: sample.isHidden)
            }
        }
        try check.finish()
        return check.result
    }

    private mutating func take(_ packet: CodedPacket, isHidden: Bool) throws {
        try control.check()
        let time = packet.ptsNanoseconds ?? packet.dtsNanoseconds
        if !isHidden { result.pictures += 1 }
        if packet.isKeyframe {
            result.syncPictures += 1
            try close(last)
            last = group
            group = try Group(track, startNanoseconds: time)
        }
        guard let group else {
            // Before the first access point.
            if !isHidden { miss(time) }
            return
        }
        let isLeading = time < group.startNanoseconds
        try group.decode(packet, isExpected: !isLeading && !isHidden)
        guard let last else { return }
        if packet.isKeyframe || isLeading {
            try last.decode(packet, isExpected: isLeading && !isHidden)
        } else {
            try close(last)
            self.last = nil
        }
    }

    private mutating func finish() throws {
        try close(last)
        try close(group)
        last = nil
        group = nil
    }

    private mutating func close(_ group: Group?) throws {
        for time in try group?.finish() ?? [] { miss(time) }
    }

    private mutating func miss(_ time: Int64) {
        result.undecodable += 1
        result.firstNanoseconds = min(result.firstNanoseconds ?? time, time)
    }
}
