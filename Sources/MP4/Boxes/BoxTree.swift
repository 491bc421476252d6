/// The value of a box's field.
package enum BoxValue: Hashable, Sendable {
    case integer(Int64)
    case unsigned(UInt64)
    case text(String)
    case bytes([UInt8])
    /// A table's number of rows, its columns, and its first rows.
    case table(count: UInt64, columns: [String], first: [[Int64]])
}

/// A named field of a box.
package struct BoxField: Hashable, Sendable {
    package var name: String
    package var value: BoxValue

    package init(_ name: String, _ value: BoxValue) {
        self.name = name
        self.value = value
    }
}

/// A box with its fields and children, for inspection.
package struct BoxNode: Hashable, Sendable {
    package var type: FourCC
    /// The 16 bytes of a `uuid` box's type.
    package var userType: [UInt8]?
    package var offset: Int64
    package var headerSizeBytes: Int64
    package var sizeBytes: Int64
    package var fields: [BoxField] = []
    package var children: [BoxNode] = []
    /// Damage within the box; the rest of the tree is still present.
    package var damage: MP4Error?
}

/// Parses the tree of a file's boxes, including damaged ones.
package struct BoxTree: Sendable {
    /// Limits of the parsed tree.
    package struct Limits: Hashable, Sendable {
        /// Nesting depth; files have about eight levels.
        package var depth = 16
        /// Total number of boxes: ten minutes of fragments have some ten thousand.
        package var boxes = 1 << 18
        /// Bytes of a box's payload that are read for its fields.
        package var payloadSizeBytes = 1 << 16
        /// Rows of a table that are kept.
        package var tableRows = 4

        package init() {}
    }

    /// The outermost boxes.
    package private(set) var boxes: [BoxNode] = []
    /// The data in place of a box, or the limit that ended the scan; nil if the boxes fill the file exactly.
    package private(set) var damage: MP4Error?

    private let limits: Limits
    private let entersMediaData: Bool
    private var boxesLeft: Int

    /// Parses a file's tree.
    ///
    /// - Parameters:
    ///   - source: the file.
    ///   - entersMediaData: whether to list the boxes inside a finished recording's `mdat`.
    ///   - limits: of the tree.
    /// - Throws: only when the source cannot be read.
    package init(
        of source: some ByteSource, entersMediaData: Bool = false, limits: Limits = Limits()
    ) throws(MP4Error) {
        self.limits = limits
        self.entersMediaData = entersMediaData
        boxesLeft = limits.boxes
        (boxes, damage) = try readSiblings(in: 0..<source.sizeBytes, depth: 0, of: source)
    }

    /// Sibling boxes, and what ended them before the end of the range.
    private mutating func readSiblings(
        in range: Range<Int64>, depth: Int, of source: some ByteSource
    ) throws(MP4Error) -> ([BoxNode], MP4Error?) {
        var nodes: [BoxNode] = []
        var reader = BoxReader(source, in: range)
        while true {
            do {
                guard let header = try reader.next() else { return (nodes, nil) }
                guard boxesLeft > 0 else {
                    throw MP4Error.overLimit(
                        box: header.type, offset: header.offset, what: "number of boxes",
                        value: UInt64(limits.boxes) + 1, limit: UInt64(limits.boxes))
                }
                boxesLeft -= 1
                nodes.append(try readBox(header, depth: depth, of: source))
            } catch let error as MP4Error {
                switch error {
                case .unreadable, .shortRead: throw error
                default: return (nodes, error)
                }
            } catch {
                preconditionFailure("only MP4Error is thrown: \(error)")
            }
        }
    }

    private mutating func readBox(
        _ header: BoxHeader, depth: Int, of source: some ByteSource
    ) throws(MP4Error) -> BoxNode {
        var node = BoxNode(
            type: header.type, offset: header.offset, headerSizeBytes: header.headerSizeBytes,
            sizeBytes: header.sizeBytes)
        if header.type == "uuid" {
            node.userType = try source.read(at: header.payloadOffset - 16, count: 16)
        }
        let payload = try source.read(
            at: header.payloadOffset,
            count: header.type == "mdat"
                ? 0
                : Int(
                    min(
                        header.sizeBytes - header.headerSizeBytes,
                        Int64(limits.payloadSizeBytes))))
        var content = BoxContent(
            header, payload: payload, tableRows: limits.tableRows)
        do throws(MP4Error) {
            try content.decode()
        } catch {
            node.damage = error
        }
        node.fields = content.fields
        guard let skipped = try childrenStart(of: header, content: content, in: source) else {
            return node
        }
        guard depth < limits.depth else {
            node.damage = .overLimit(
                box: header.type, offset: header.offset, what: "depth",
                value: UInt64(depth) + 1, limit: UInt64(limits.depth))
            return node
        }
        let (children, damage) = try readSiblings(
            in: min(header.payloadOffset + skipped, header.end)..<header.end, depth: depth + 1,
            of: source)
        node.children = children
        node.damage = node.damage ?? damage
        return node
    }

    /// Bytes of payload before a box's children; nil if it has none.
    private func childrenStart(
        of header: BoxHeader, content: BoxContent, in source: some ByteSource
    ) throws(MP4Error) -> Int64? {
        guard header.type == "mdat" else { return content.childrenStart }
        // Only a finished recording's mdat begins with a box, the initial moov.
        guard entersMediaData, header.headerSizeBytes == 16, header.payload.count >= 8 else {
            return nil
        }
        let front = try source.read(at: header.payloadOffset, count: 8)
        return FourCC(rawValue: UInt32(front[...].bigEndian(at: 4, count: 4))) == "moov"
            ? 0 : nil
    }
}
