/// The starts of the NAL units of an H.265 stream that FFmpeg's libx265 made of testsrc2, 64×64 at 5 fps: open groups
/// of 8 pictures (`open-gop=1:keyint=8:bframes=2:b-adapt=0`). Slices end after their headers.
package enum H265Stream {
    package static let videoSet = bytes("40010c01ffff01600000030090000003000003001e911009")
    package static let sequenceSet = bytes(
        "42010101600000030090000003000003001ea020810596444924caf016808000000300800000030284")
    package static let pictureSet = bytes("4401c172b42240")
    package static let sets = [videoSet, sequenceSet, pictureSet]

    /// In decoding order: an IDR picture, and two CRA pictures with a RASL picture each.
    package static let pictures = [
        "2801af264f5cebac", "0201d0195f844644", "0001e024b5e188c0", "0001e04497e18840",
        "0201d031ddfd4430", "0001e086b75f5188", "0001e0a695ff5188", "2a01ac204a337480",
        "1001e0e6b7fd4621", "0201d0595f843193", "0001e124b5e188c0", "0001e14497e18840",
        "0201d071ddfd4430", "0001e186b75f5188", "0001e1a695ff5188", "2a01ac404a337480",
        "1001e1e6b7fd4621", "0201d0995f84464c", "0001e224b5e188c0", "0001e24497e188c0",
    ].map(bytes)

    /// The positions of pictures in presentation order, in decoding order: what ffprobe says of the packets' times.
    package static let order: [Int64] = [
        0, 3, 1, 2, 6, 4, 5, 8, 7, 11, 9, 10, 14, 12, 13, 16, 15, 19, 17, 18,
    ]

    package static func bytes(_ hexadecimal: String) -> [UInt8] {
        let digits = Array(hexadecimal)
        return stride(from: 0, to: digits.count, by: 2).compactMap {
            UInt8(String(digits[$0..<$0 + 2]), radix: 16)
        }
    }

    /// With 4-byte lengths.
    package static func accessUnit(_ nalUnits: [[UInt8]]) -> [UInt8] {
        var result: [UInt8] = []
        for nalUnit in nalUnits {
            result += [0, 0, UInt8(nalUnit.count >> 8), UInt8(nalUnit.count & 0xFF)] + nalUnit
        }
        return result
    }
}
