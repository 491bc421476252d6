import Archive
import Testing

struct `A session's file` {
    private let owner = SourceKey(session: "2026-11-20T22-40-00.000Z", source: "camera")
    private let name = "2026-11-20T22-40-10.000Z.mp4"

    @Test func `is recognised by its path`() throws {
        let segment = try #require(SegmentKey(owner, fileName: name))
        #expect(SessionFile(segment.description) == .segment(segment))
        #expect(SessionFile("\(owner)/\(name).json") == .proof(segment))
        #expect(SessionFile("\(owner)/ledger.jsonl") == .ledger(owner))
        for document in ["session.json", "notes.json", "marks.json", ".protected"] {
            #expect(
                SessionFile("\(owner.session)/\(document)")
                    == .document(session: owner.session, name: document))
        }
        #expect(SegmentName(name)?.origin == segment.origin)
    }

    @Test(arguments: [
        "", "/", "session.json", "s/other.json", "s/camera/other.mp4", "s/camera/ledger.jsonl/",
        "s//ledger.jsonl", "../camera/ledger.jsonl", "s/../ledger.jsonl", "/s/camera/ledger.jsonl",
        "s/camera/x/ledger.jsonl", "s/camera/2026-02-30T22-40-10.000Z.mp4",
        "s/camera/2026-11-20T22-40-10.000Z.mp4.removing", "s/session.json/ledger.jsonl/x",
    ])
    func `is not recognised at another path`(path: String) {
        #expect(SessionFile(path) == nil)
    }

    @Test func `is recognised by its name in a listing`() throws {
        let moved = "2026-11-20T22-40-20.000Z.mp4"
        let removed = "2026-11-20T22-40-30.000Z.mp4"
        let names = SegmentNames([
            "other.mp4", "\(name).upload", name, "\(moved).json", "\(removed).json",
            "\(removed).removing", "other.mp4.json", "gone.mp4.json", "x.mp4.new", "ledger.jsonl",
            "checkpoint", ".json", "a/b.mp4", "a\0.mp4", "\(name).damaged", "a/b.mp4.new",
        ])
        #expect(names.segments.map(\.description) == [name, "other.mp4"])
        #expect(names.segments.map { $0.origin == nil } == [false, true])
        #expect(names.has(.upload, of: names.segments[0]))
        #expect(!names.has(.proof, of: names.segments[0]))
        #expect(names.names(.removing) == ["\(removed).removing"])
        #expect(names.names(.unnamed) == ["x.mp4.new"])
        #expect(names.moved(of: owner) == [SegmentKey(owner, fileName: moved)])
        #expect(SegmentName.segment(of: "/a/\(removed).removing") == removed)
        #expect(SegmentName.segment(of: "/a/\(name)") == name)
        #expect(SegmentName.stem(of: name) + ".mp4" == name && SegmentName.stem(of: "a") == "a")
    }
}
