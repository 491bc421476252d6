import Containers
import Foundation
import Media
import Recordings
import ReplayCore
import Synchronization
import TestMedia
import TestRecordings
import Testing

/// Collects the written bytes.
private final class Collector: ContainerSink {
    let bytes = Mutex<[UInt8]>([])

    func write(_ new: UnsafeRawBufferPointer) {
        bytes.withLock { $0.append(contentsOf: new) }
    }
}

/// A recording in a container.
@Suite struct ContainerReplayTests {
    /// A program map of MPEG-TS (ISO/IEC 13818-1 §2.4.4.8): its version, and the `stream_type` of each stream.
    private struct ProgramMap: Hashable {
        var version: UInt8
        var streamTypes: [UInt8]

        /// Nil: the packet has none.
        init?(_ packet: ArraySlice<UInt8>) {
            let bytes = Array(packet)
            guard bytes[0] == 0x47, bytes[1] & 0x40 != 0 else { return nil }
            var place = 4
            if bytes[3] & 0x20 != 0 { place += 1 + Int(bytes[4]) }
            guard place < bytes.count else { return nil }
            place += 1 + Int(bytes[place])
            guard place + 12 < bytes.count, bytes[place] == 2 else { return nil }
            func size(_ offset: Int) -> Int {
                Int(bytes[offset] & 0x0F) << 8 | Int(bytes[offset + 1])
            }
            let end = place + 3 + size(place + 1) - 4
            version = bytes[place + 5] >> 1 & 0x1F
            streamTypes = []
            place += 12 + size(place + 10)
            while place + 5 <= min(end, bytes.count) {
                streamTypes.append(bytes[place])
                place += 5 + size(place + 3)
            }
        }
    }

    private func play(_ written: WrittenSession, to destination: ContainerDestination) throws
        -> ReplayStatus
    {
        let control = try ReplayControl(startsPaused: false)
        let replay = ContainerReplay(
            settings: ContainerReplay.Settings(
                destination: destination, format: .mpegTS, speed: .unlimited, loops: false,
                from: nil, until: nil),
            control: control, cancellation: Cancellation())
        let session = try RecordedSession(WrittenSession.name, in: written.layout)
        #expect(try replay.run(session.sources) == .complete)
        return control.status
    }

    private func h265() -> TrackFormat {
        .video(VideoFormat(.h265, parameterSets: H265Stream.sets, width: 64, height: 64))
    }

    @Test func `a pipe gets another program map where the codec changes`() throws {
        let written = try WrittenSession(laterVideo: h265()) { _ in 0 }
        let collector = Collector()
        _ = try play(written, to: .sink(collector))
        let bytes = collector.bytes.withLock { $0 }
        var maps: [ProgramMap] = []
        for start in stride(from: 0, to: bytes.count, by: 188) {
            guard let map = ProgramMap(bytes[start..<start + 188]), map != maps.last else {
                continue
            }
            maps.append(map)
        }
        // H.264 and H.265, each with AAC in ADTS (ISO/IEC 13818-1 table 2-34).
        #expect(maps.map(\.streamTypes) == [[0x1B, 0x0F], [0x24, 0x0F]])
        #expect(maps.map(\.version) == [0, 1])
    }

    @Test func `a file of MPEG-TS is followed by another one where the codec changes`() throws {
        let written = try WrittenSession(laterVideo: h265()) { _ in 0 }
        let path = written.directory.appending(path: "show.ts").path
        let status = try play(written, to: .file(path))
        #expect(status.files == [path, written.directory.appending(path: "show-2.ts").path])
    }

    @Test func `MPEG-TS continues where only the picture's size changes`() throws {
        let larger = TrackFormat.video(
            .h264(
                sequenceParameterSets: [
                    H265Stream.bytes("6764001facd9405005bb011000000300100000030003c0f1831960")
                ],
                pictureParameterSets: [H265Stream.bytes("68ebe3cb22c0")], width: 1280, height: 720))
        let written = try WrittenSession(laterVideo: larger) { _ in 0 }
        let path = written.directory.appending(path: "show.ts").path
        #expect(try play(written, to: .file(path)).files == [path])
    }
}
