import Devices
import Foundation
import Media

/// Capture times coded in a recording's pictures.
struct PictureCodes {
    /// One picture.
    struct Code: Hashable {
        var presentationNanoseconds: Int64
        /// `CLOCK_MONOTONIC` of the agent; nil if unreadable.
        var captureNanoseconds: Int64?
    }

    /// In presentation order.
    private(set) var codes: [Code] = []

    /// Decodes a recording of the test pattern with FFmpeg, and reads every picture's top eighth.
    init(of file: URL, on stage: Stage) async throws {
        let probe = try await Foreign.probe(file, on: stage)
        let stream = try probe.stream(.video)
        guard let width = stream.width, let height = stream.height else {
            throw StageFailure(description: "\(file.path): the pictures have no size")
        }
        let times = try probe.packets(.video).map(\.ptsNanoseconds).sorted()
        let luma = try await Foreign.ffmpeg(
            file, "-map", "0:v", "-vf", "crop=iw:ih/8:0:0,extractplanes=y", "-enc_time_base", "-1",
            "-fps_mode",
            "passthrough", "-f", "rawvideo", "-", on: stage)
        let sizeBytes = width * (height / 8)
        guard luma.count == times.count * sizeBytes else {
            throw StageFailure(
                description: "\(luma.count / sizeBytes) pictures come out of \(times.count)")
        }
        for (index, time) in times.enumerated() {
            codes.append(
                Code(
                    presentationNanoseconds: time,
                    captureNanoseconds: Self.read(
                        luma[index * sizeBytes..<(index + 1) * sizeBytes], width: width,
                        pictureHeight: height)))
        }
    }

    /// Reads the code from the luma of a picture's top eighth.
    static func read(_ luma: Data, width: Int, pictureHeight: Int) -> Int64? {
        let band = LumaBand(luma)
        // Only the top eighth of the picture is present and read.
        let frame = RawFrame(
            format: .yuv420p, width: width, height: pictureHeight,
            planes: [RawFrame.Plane(baseAddress: band.start, bytesPerRow: width)],
            colour: nil, captureNanoseconds: 0, durationNanoseconds: 0, owner: band)
        return TimeCode(readingLumaOf: frame).map { Int64($0.captureNanoseconds) }
    }

    /// Capture less presentation time of each readable picture; constant if times are right.
    var offsetsNanoseconds: [Int64] {
        codes.compactMap { code in
            code.captureNanoseconds.map { $0 - code.presentationNanoseconds }
        }
    }

    /// Capture times of the readable pictures.
    var captureNanoseconds: [Int64] { codes.compactMap(\.captureNanoseconds) }
}

/// The luma of a picture's top.
// @unchecked: written before it is shared, read-only afterwards.
private final class LumaBand: @unchecked Sendable {
    let start: UnsafeMutableRawPointer

    init(_ bytes: Data) {
        start = .allocate(byteCount: bytes.count, alignment: 1)
        bytes.withUnsafeBytes { source in
            guard let base = source.baseAddress else { return }
            start.copyMemory(from: base, byteCount: source.count)
        }
    }

    deinit { start.deallocate() }
}
