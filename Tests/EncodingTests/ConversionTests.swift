import Encoding
import Media
import Testing

@Suite struct ConversionTests {
    private let size = PictureSize(width: 64, height: 64)

    /// A picture of one colour in a packed format.
    private func packed(_ format: PixelFormat, _ pixels: [UInt8]) -> RawFrame {
        let rows = size.width * size.height * pixels.count / (format == .yuyv422 ? 2 : 1)
        let memory = Bytes(count: rows)
        for index in 0..<rows { memory.bytes[index] = pixels[index % pixels.count] }
        return RawFrame(
            format: format, width: size.width, height: size.height,
            planes: [
                RawFrame.Plane(
                    baseAddress: UnsafeMutableRawPointer(memory.bytes),
                    bytesPerRow: rows / size.height)
            ], colour: nil, captureNanoseconds: 1_000_000_000, durationNanoseconds: 40_000_000,
            owner: memory)
    }

    /// Y, Cb, Cr in the middle of the picture after encoding and decoding.
    private func roundTrip(_ frame: RawFrame) throws -> [UInt8] {
        var settings = VideoEncoderSettings(
            size: size, frameRate: FrameRate(25), hasConstantRate: true)
        settings.threads = 1
        var encoder = try VideoEncoder(settings)
        var samples: [EncodedSample] = []
        try encoder.encode(frame) { samples.append($0) }
        try encoder.finish { samples.append($0) }
        var decoder = try VideoDecoder(SampleReader.track(encoder.format))
        var result: [UInt8] = []
        func read(_ frame: RawFrame) {
            result = frame.planes.enumerated().map { index, plane in
                let middle = index == 0 ? 32 : 16
                return plane.baseAddress.load(
                    fromByteOffset: middle * plane.bytesPerRow + middle, as: UInt8.self)
            }
        }
        for sample in samples { try decoder.decode(SampleReader.packet(sample)) { read($0) } }
        try decoder.finish { read($0) }
        return result
    }

    private func isClose(_ one: [UInt8], _ other: [UInt8]) -> Bool {
        one.count == other.count && zip(one, other).allSatisfy { abs(Int($0) - Int($1)) <= 3 }
    }

    @Test func `RGB becomes limited-range BT 709`() throws {
        #expect(isClose(try roundTrip(packed(.rgb24, [255, 0, 0])), [63, 102, 240]))
        #expect(isClose(try roundTrip(packed(.rgb24, [255, 255, 255])), [235, 128, 128]))
    }

    @Test func `a camera's YUYV keeps its colours`() throws {
        #expect(isClose(try roundTrip(packed(.yuyv422, [90, 60, 90, 200])), [90, 60, 200]))
    }

    @Test func `a reduced pixel is the average of the pixels that it covers`() throws {
        let whole = PictureBuffer(width: 256, height: 256)
        // One white row in eight: cubic interpolation would not see all of them alike.
        for row in 0..<256 {
            let line = whole.planes[0].baseAddress + row * whole.planes[0].bytesPerRow
            line.initializeMemory(as: UInt8.self, repeating: row % 8 == 3 ? 232 : 16, count: 256)
        }
        for plane in whole.planes.dropFirst() {
            plane.baseAddress.initializeMemory(
                as: UInt8.self, repeating: 128, count: 128 * plane.bytesPerRow)
        }
        var converter = PictureConverter(
            size: PictureSize(width: 32, height: 32), averages: true)
        let small = try converter.convert(
            whole.frame(captureNanoseconds: 7, durationNanoseconds: 9, colour: nil))
        #expect(small.captureNanoseconds == 7 && small.durationNanoseconds == 9)
        for row in 0..<32 {
            let value = small.planes[0].baseAddress.load(
                fromByteOffset: row * small.planes[0].bytesPerRow + 16, as: UInt8.self)
            #expect(abs(Int(value) - (16 + (232 - 16) / 8)) <= 2, "row \(row): \(value)")
        }
    }

    @Test func `an unknown pixel format is named in the error`() {
        let error = #expect(throws: EncodingError.self) {
            _ = try roundTrip(packed(PixelFormat(name: "plasma"), [1]))
        }
        #expect(error?.description.contains("plasma") == true)
    }
}

/// Memory of a picture.
// @unchecked: filled before anyone else sees it, only read from then on.
private final class Bytes: @unchecked Sendable {
    let bytes: UnsafeMutablePointer<UInt8>

    init(count: Int) { bytes = .allocate(capacity: count) }
    deinit { bytes.deallocate() }
}
