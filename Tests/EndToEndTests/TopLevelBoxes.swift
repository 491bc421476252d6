import Foundation

/// A file's top-level boxes, parsed independently of the code under test (ISO/IEC 14496-12 §4.2).
struct TopLevelBoxes {
    private(set) var types: [String] = []
    private var contents: [Data] = []

    /// - Parameter grows: whether it is being written, so that its last box may be partial.
    init(of file: URL, grows: Bool = false) throws {
        let data = try Data(contentsOf: file)
        var offset = 0
        while offset < data.count {
            guard data.count - offset >= 16 else {
                if grows { return }
                throw StageFailure(description: "a box is cut short at byte \(offset)")
            }
            let short = Self.integer(data[offset..<offset + 4])
            let size = short == 1 ? Self.integer(data[offset + 8..<offset + 16]) : short
            let type = String(decoding: data[offset + 4..<offset + 8], as: UTF8.self)
            guard size >= 8, size <= data.count - offset else {
                if grows { return }
                throw StageFailure(description: "the box \(type) says it has \(size) bytes")
            }
            types.append(type)
            contents.append(data[offset..<offset + size])
            offset += size
        }
    }

    /// Whether the file is an ordinary MP4: media data and full tables, without `mvex`.
    var areOrdinary: Bool {
        types == ["ftyp", "mdat", "moov"] && contents[2].count(of: "mvex") == 0
    }

    private static func integer(_ bytes: Data) -> Int {
        bytes.reduce(0) { $0 << 8 | Int($1) }
    }
}
