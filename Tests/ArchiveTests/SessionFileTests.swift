import Archive
import Testing

struct `A session's file` {
    private let owner = SourceKey(session: "2026-11-20T22-40-00.000Z", source: "camera")
    private let name = "2026-11-20T22-40-10.000Z.mp4"

    @Test func `is found by its path`() throws {
        let segment = try #require(SegmentKey(owner, fileName: name))
        #expect(SessionFile(segment.description) == .segment(segment))
        #expect(SessionFile("\(owner)/\(name).json") == .proof(segment))
        #expect(SessionFile("\(owner)/ledger.jsonl") == .ledger(owner))
        for document in ["session.json", "notes.json", "marks.json", ".protected"] {
            #expect(
                SessionFile("\(owner.session)/\(document)")
                    == .document(session: owner.session, name: document))
        }
        #expect(SegmentKey.origin(fileName: name) == segment.origin)
    }

    @Test(arguments: [
        "", "/", "session.json", "s/other.json", "s/camera/other.mp4", "s/camera/ledger.jsonl/",
        "s//ledger.jsonl", "../camera/ledger.jsonl", "s/../ledger.jsonl", "/s/camera/ledger.jsonl",
        "s/camera/x/ledger.jsonl", "s/camera/2026-02-30T22-40-10.000Z.mp4",
        "s/camera/2026-11-20T22-40-10.000Z.mp4.removing", "s/session.json/ledger.jsonl/x",
    ])
    func `is no other path`(path: String) {
        #expect(SessionFile(path) == nil)
    }
}
