/// The transformation matrix of `tkhd` (ISO/IEC 14496-12 §6.2.2, §8.3.2), and of libavformat
/// (`AV_PKT_DATA_DISPLAYMATRIX`): rows { a, b, u }, { c, d, v }, { x, y, w } map the pixel at (p, q) to (a·p + c·q + x,
/// b·p + d·q + y).
package struct DisplayMatrix: Hashable {
    private static let one: UInt32 = 0x0001_0000
    private static let minusOne: UInt32 = 0xFFFF_0000

    /// In the order of the box, 16.16; the third column 2.30.
    package let values: [UInt32]

    /// The matrix for a picture of this size, 16.16, with its result at the origin.
    package init(_ orientation: PictureOrientation, width: UInt32, height: UInt32) {
        // The images of a step to the right, a step down, and the upper left corner.
        var right: (UInt32, UInt32)
        let down: (UInt32, UInt32)
        var corner: (UInt32, UInt32)
        switch orientation.rotation {
        case .none: (right, down, corner) = ((Self.one, 0), (0, Self.one), (0, 0))
        case .quarter: (right, down, corner) = ((0, Self.one), (Self.minusOne, 0), (height, 0))
        case .half:
            (right, down, corner) = ((Self.minusOne, 0), (0, Self.minusOne), (width, height))
        case .threeQuarters:
            (right, down, corner) = ((0, Self.minusOne), (Self.one, 0), (0, width))
        }
        if orientation.isMirrored {
            // The corner is now that of the former upper right.
            switch orientation.rotation {
            case .none: corner.0 = width
            case .quarter: corner.1 = width
            case .half: corner.0 = 0
            case .threeQuarters: corner.1 = 0
            }
            right = (Self.negated(right.0), Self.negated(right.1))
        }
        values = [
            right.0, right.1, 0, down.0, down.1, 0, corner.0, corner.1, 0x4000_0000,
        ]
    }

    private static func negated(_ value: UInt32) -> UInt32 { 0 &- value }

    /// The orientation of libavformat's nine numbers, in native byte order; nil for anything but rotations by quarter
    /// turns and mirroring.
    package static func orientation(of numbers: UnsafeRawBufferPointer) -> PictureOrientation? {
        guard numbers.count >= 36 else { return nil }
        return orientation(
            of: (0..<9).map { numbers.loadUnaligned(fromByteOffset: 4 * $0, as: UInt32.self) })
    }

    /// The orientation of a matrix in a file; nil for anything but rotations by quarter turns and mirroring.
    package static func orientation(of values: [UInt32]) -> PictureOrientation? {
        guard values.count == 9 else { return nil }
        for rotation in PictureOrientation.Rotation.allCases {
            for isMirrored in [false, true] {
                let orientation = PictureOrientation(rotation: rotation, isMirrored: isMirrored)
                let ours = DisplayMatrix(orientation, width: 0, height: 0).values
                if [0, 1, 3, 4].allSatisfy({ ours[$0] == values[$0] }) { return orientation }
            }
        }
        return nil
    }
}
