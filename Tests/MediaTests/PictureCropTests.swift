import Media
import Testing

@Suite struct PictureCropTests {
    @Test func `a part is read as it is written, and only when it is even`() {
        #expect(PictureCrop("320x180+10+20")?.description == "320x180+10+20")
        for text in [
            "", "320x180", "321x180+0+0", "320x180+1+0", "320x180-2+0", "0x0+0+0", "axb+0+0",
        ] {
            #expect(PictureCrop(text) == nil, "\(text)")
        }
    }

    @Test func `a cropped picture shares the memory`() throws {
        let buffer = PictureBuffer(width: 64, height: 32)
        for plane in buffer.planes.enumerated() {
            let rows = plane.offset == 0 ? 32 : 16
            for row in 0..<rows {
                for column in 0..<(plane.offset == 0 ? 64 : 32) {
                    plane.element.baseAddress.storeBytes(
                        of: UInt8(truncatingIfNeeded: row * 7 + column),
                        toByteOffset: row * plane.element.bytesPerRow + column, as: UInt8.self)
                }
            }
        }
        let whole = buffer.frame(
            captureNanoseconds: 1, durationNanoseconds: 2, colour: .bt709)
        let crop = try #require(PictureCrop("16x8+20+10"))
        let part = try #require(whole.cropped(to: crop))
        #expect((part.width, part.height) == (16, 8))
        #expect(part.planes[0].baseAddress.load(as: UInt8.self) == 10 * 7 + 20)
        #expect(part.planes[1].baseAddress.load(as: UInt8.self) == 5 * 7 + 10)
        #expect(part.planes[2].baseAddress.load(as: UInt8.self) == 5 * 7 + 10)
        #expect(whole.cropped(to: try #require(PictureCrop("64x32+2+0"))) == nil)
    }
}
