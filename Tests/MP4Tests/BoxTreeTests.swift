import Media
import Testing

@testable import MP4

struct BoxTreeTests {
    private func find(_ path: [FourCC], in nodes: [BoxNode]) -> BoxNode? {
        guard let first = path.first, let node = nodes.first(where: { $0.type == first }) else {
            return nil
        }
        return path.count == 1 ? node : find(Array(path.dropFirst()), in: node.children)
    }

    private func value(_ name: String, of node: BoxNode?) -> BoxValue? {
        node?.fields.first { $0.name == name }?.value
    }

    @Test
    func `boxes fill their parents without a gap`() throws {
        let recorder = try Recorder(.handmade())
        func check(_ nodes: [BoxNode], end: Int64) {
            for (node, next) in zip(nodes, nodes.dropFirst()) {
                #expect(node.offset + node.sizeBytes == next.offset)
            }
            if let last = nodes.last { #expect(last.offset + last.sizeBytes == end) }
            for node in nodes {
                #expect(node.damage == nil, "\(node.type) at \(node.offset)")
                check(node.children, end: node.offset + node.sizeBytes)
            }
        }
        for bytes in [recorder.bytes, try recorder.finished()] {
            let tree = try BoxTree(of: MemorySource(bytes), entersMediaData: true)
            check(tree.boxes, end: Int64(bytes.count))
        }
    }

    @Test
    func `fields have the standard's names and our values`() throws {
        let tree = try BoxTree(of: MemorySource(try Recorder(.handmade()).finished()))
        let trak: [FourCC] = ["moov", "trak"]
        #expect(value("major_brand", of: find(["ftyp"], in: tree.boxes)) == .text("isom"))
        #expect(
            value("timescale", of: find(["moov", "mvhd"], in: tree.boxes)) == .unsigned(720_000))
        let track = find(trak + ["tkhd"], in: tree.boxes)
        #expect(value("width", of: track) == .unsigned(320))
        #expect(value("height", of: track) == .unsigned(180))
        #expect(
            value("language", of: find(trak + ["mdia", "mdhd"], in: tree.boxes)) == .text("und"))
        let tables = trak + ["mdia", "minf", "stbl"]
        #expect(
            value("entries", of: find(tables + ["stts"], in: tree.boxes))
                == .table(
                    count: 1, columns: ["sample_count", "sample_delta"], first: [[75, 3_600]]))
        #expect(
            value("picture", of: find(tables + ["stsd", "avc1", "avcC"], in: tree.boxes))
                == .text("320x180"))
    }

    @Test
    func `the swallowed fragments show only when asked for`() throws {
        let source = MemorySource(try Recorder(.handmade()).finished())
        #expect(try BoxTree(of: source).boxes[1].children.isEmpty)
        let inner = try BoxTree(of: source, entersMediaData: true).boxes[1].children
        #expect(
            inner.map(\.type) == ["moov"] + Array(repeating: ["moof", "mdat"], count: 3).joined())
    }

    @Test
    func `a box past the end is named, after the boxes before it`() throws {
        let bytes = try Recorder(.handmade()).bytes
        let tree = try BoxTree(of: MemorySource(Array(bytes.dropLast())))
        #expect(tree.boxes.last?.type == "moof")
        guard case .pastEnd(let box, _, _, _) = tree.damage else {
            Issue.record("damage is \(String(describing: tree.damage))")
            return
        }
        #expect(box == "mdat")
    }
}
