/// Writes H.264 by hand (ISO/IEC 14496-10 §7.3): pictures of uncompressed macroblocks (I_PCM), pictures that repeat
/// others (P_Skip), and their parameter sets and messages. Tests can build any stream that the standard allows.
package enum H264Writer {
    /// The fields of a sequence parameter set.
    package struct Sequence: Sendable {
        package var id: UInt32 = 0
        /// Macroblocks along a side.
        package var columns: UInt32 = 2
        package var rows: UInt32 = 2
        package var orderBits: UInt32 = 8
        package var hasFields = false
        /// `time_scale` of a VUI with timing; nil: no VUI.
        package var timeScale: UInt32?

        package init(
            id: UInt32 = 0, columns: UInt32 = 2, rows: UInt32 = 2, orderBits: UInt32 = 8,
            hasFields: Bool = false, timeScale: UInt32? = nil
        ) {
            self.id = id
            self.columns = columns
            self.rows = rows
            self.orderBits = orderBits
            self.hasFields = hasFields
            self.timeScale = timeScale
        }

        /// Its NAL unit: Main profile, level 3, four reference frames.
        package var nalUnit: [UInt8] {
            var writer = BitWriter()
            for value: UInt32 in [77, 0, 30] { writer.u(value, 8) }
            // id, 4 bits of frame_num, order type 0, its bits, reference frames
            for value in [id, 0, 0, orderBits - 4, 4] { writer.ue(value) }
            writer.u(0, 1)
            writer.ue(columns - 1)
            writer.ue(rows / (hasFields ? 2 : 1) - 1)
            writer.u(hasFields ? 0 : 1, 1)
            if hasFields { writer.u(0, 1) }
            writer.u(1, 1)
            writer.u(0, 1)
            writer.u(timeScale == nil ? 0 : 1, 1)
            if let timeScale {
                writer.u(0, 4)
                writer.u(1, 1)
                writer.u(1, 32)
                writer.u(timeScale, 32)
                writer.u(0b1000, 4)  // fixed rate; no decoder parameters; no pic_struct
                writer.u(0, 1)
            }
            return writer.nalUnit(header: 0x67)
        }
    }

    /// A picture parameter set's NAL unit: CAVLC, one slice group.
    package static func pictureSet(_ id: UInt32 = 0, of sequence: UInt32 = 0) -> [UInt8] {
        var writer = BitWriter()
        writer.ue(id)
        writer.ue(sequence)
        writer.u(0, 2)
        for _ in 0..<3 { writer.ue(0) }
        writer.u(0, 3)
        for _ in 0..<3 { writer.se(0) }
        writer.u(0, 3)
        return writer.nalUnit(header: 0x68)
    }

    /// A picture's number and order, and how its slices are coded.
    package struct Picture: Sendable {
        package enum Kind: Sendable {
            case idr(id: UInt32)
            case intra
            /// Every macroblock repeats the last reference picture's.
            case repeated
            /// Repeated, except this row of uncompressed macroblocks.
            case refreshed(row: UInt32)
        }

        package var kind: Kind
        /// `frame_num`.
        package var number: UInt32
        /// `pic_order_cnt_lsb`.
        package var order: UInt32
        package var pictureSet: UInt32 = 0
        package var luma: UInt8 = 100
        package var isReference = true
        /// Nil: a frame.
        package var isBottomField: Bool?

        package init(
            _ kind: Kind, number: UInt32, order: UInt32, pictureSet: UInt32 = 0, luma: UInt8 = 100,
            isReference: Bool = true, isBottomField: Bool? = nil
        ) {
            self.kind = kind
            self.number = number
            self.order = order
            self.pictureSet = pictureSet
            self.luma = luma
            self.isReference = isReference
            self.isBottomField = isBottomField
        }

        /// Its slices' NAL units, each with the same number of macroblock rows.
        package func slices(_ sequence: Sequence, count: UInt32 = 1) -> [[UInt8]] {
            let rows = sequence.rows / (isBottomField == nil ? 1 : 2) / count
            return (0..<count).map { slice(sequence, firstRow: $0 * rows, rows: rows) }
        }

        private func slice(_ sequence: Sequence, firstRow: UInt32, rows: UInt32) -> [UInt8] {
            var writer = BitWriter()
            let columns = sequence.columns
            writer.ue(firstRow * columns)
            var type: UInt32 = 7
            var nalType: UInt8 = 1
            var idrID: UInt32?
            switch kind {
            case .idr(let id):
                nalType = 5
                idrID = id
            case .intra: break
            case .repeated, .refreshed: type = 5
            }
            writer.ue(type)
            writer.ue(pictureSet)
            writer.u(number % 16, 4)
            if sequence.hasFields {
                writer.u(isBottomField == nil ? 0 : 1, 1)
                if let isBottomField { writer.u(isBottomField ? 1 : 0, 1) }
            }
            if let idrID { writer.ue(idrID) }
            writer.u(order % (1 << sequence.orderBits), Int(sequence.orderBits))
            if type == 5 { writer.u(0, 2) }  // the usual number and order of references
            if isReference { writer.u(0, idrID == nil ? 1 : 2) }
            writer.se(0)
            switch kind {
            case .idr, .intra:
                for _ in 0..<rows * columns { uncompressed(type: 25, to: &writer) }
            case .repeated:
                writer.ue(rows * columns)
            case .refreshed(let row):
                writer.ue((row - firstRow) * columns)
                for column in 0..<columns {
                    if column > 0 { writer.ue(0) }
                    uncompressed(type: 30, to: &writer)
                }
                let rest = (firstRow + rows - row - 1) * columns
                if rest > 0 { writer.ue(rest) }
            }
            return writer.nalUnit(header: (isReference ? 0x60 : 0) | nalType)
        }

        private func uncompressed(type: UInt32, to writer: inout BitWriter) {
            writer.ue(type)
            writer.align()
            for _ in 0..<256 { writer.u(UInt32(luma), 8) }
            for _ in 0..<128 { writer.u(128, 8) }
        }
    }

    package static let delimiter: [UInt8] = [0x09, 0xF0]

    /// A recovery point message (§D.1.8).
    package static func recoveryPoint(_ frames: UInt32) -> [UInt8] {
        var writer = BitWriter()
        writer.ue(frames)
        writer.u(0b1000, 4)
        // Four bits behind a code of odd length never fill a byte, so the payload ends with a stop bit of its own.
        let content = Array(writer.nalUnit(header: 0).dropFirst())
        return [0x06, 6, UInt8(content.count)] + content + [0x80]
    }

    /// User data without a meaning (§D.1.7).
    package static let userData: [UInt8] =
        [0x06, 5, 20] + (1...16).map { UInt8($0) } + [65, 66, 67, 68] + [0x80]
}
