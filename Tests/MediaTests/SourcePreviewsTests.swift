import Media
import Testing

/// Which sources are previews of others.
@Suite struct SourcePreviewsTests {
    @Test func `a source with the suffix is a preview if its source exists`() {
        let previews = SourcePreviews(["door", "door.preview", "yard", "gate.preview"])
        #expect(previews.source(of: "door.preview") == "door")
        #expect(previews.preview(of: "door") == "door.preview")
        #expect(previews.isPreview("door.preview"))
        #expect(!previews.isPreview("door"))
        #expect(previews.preview(of: "yard") == nil)
        // Without its source, it is a source like any other.
        #expect(!previews.isPreview("gate.preview"))
        #expect(previews.source(of: "gate.preview") == nil)
        // The preview of an absent source.
        #expect(previews.source(of: "yard.preview") == "yard")
        #expect(previews.preview(of: "hall") == nil)
    }

    @Test func `a preview has no preview`() {
        let previews = SourcePreviews(["a", "a.preview", "a.preview.preview"])
        #expect(previews.source(of: "a.preview.preview") == nil)
        #expect(previews.preview(of: "a.preview") == nil)
        #expect(SourcePreviews.source(named: "a.preview.preview") == nil)
    }

    @Test func `only the whole suffix makes a preview's name`() {
        #expect(SourcePreviews.name(of: "door") == "door.preview")
        #expect(SourcePreviews.source(named: "door.preview") == "door")
        for name in ["door", "door-preview", "doorpreview", ".preview", "door.previews", "preview"]
        {
            #expect(SourcePreviews.source(named: name) == nil, "\(name)")
        }
    }

    @Test func `a preview is listed after its source`() {
        let names = ["a", "a-b", "a.preview", "c.preview", "d"]
        #expect(
            SourcePreviews(names).grouped(names) { $0 } == [
                "a", "a.preview", "a-b", "c.preview", "d",
            ])
    }
}
