import Testing

@testable import XML

@Suite struct XMLElementTests {
    private func parse(_ text: String) -> XMLElement? {
        do throws(XMLElement.Flaw) {
            return try XMLElement.parse(Array(text.utf8))
        } catch {
            return nil
        }
    }

    @Test func `elements, text and references are read`() throws {
        let root = try #require(
            parse(
                """
                <?xml version="1.0" encoding="UTF-8"?>
                <!-- a comment -->
                <s3:List xmlns:s3="x>y" a='1'>
                  <Key>a&amp;b&#60;&#x3E;&quot;</Key><Empty/><Data><![CDATA[<&>]]></Data>
                </s3:List>

                """))
        #expect(root.name == "List")
        #expect(root.attributes == ["s3": "x>y", "a": "1"])
        #expect(root.children.map(\.name) == ["Key", "Empty", "Data"])
        #expect(root.text(of: "Key") == "a&b<>\"")
        #expect(root.text(of: "Empty") == "")
        #expect(root.text(of: "Data") == "<&>")
    }

    @Test(arguments: [
        "", " ", "x", "<a>", "<a></b>", "</a>", "<a/><b/>", "<a>&b;</a>", "<a>&#xD800;</a>",
        "<a>&", "<a><![CDATA[x</a>", "<!DOCTYPE a [<!ENTITY b \"c\">]><a>&b;</a>", "<a b=\"></a>",
        "<a", "< a></a>", "<a>x</a>y", "<a><</a>", "<>", "<a></a", "<!-- x", "<a b></a>",
        "<a b=c></a>", "<a b='<'></a>", "<a b='&c;'></a>", "<a =\"b\"/>", "<a / >",
    ])
    func `a document that is not well-formed is refused`(_ text: String) {
        #expect(parse(text) == nil)
    }

    @Test(arguments: [
        "<!DOCTYPE a><a/>", "<!DOCTYPE a SYSTEM 'http://10.0.0.9/a.dtd'><a/>",
        "<a><!ELEMENT b></a>",
    ])
    func `a document type is refused, also one without entities`(_ text: String) {
        #expect(throws: XMLElement.Flaw.self) { try XMLElement.parse(Array(text.utf8)) }
    }

    @Test func `attributes are read without their prefixes, with references resolved`() throws {
        let root = try #require(
            parse("<a b='&quot;&#233;' tt:token = \"x'y\"><c token=\"\"/><d><e>f</e></d></a>"))
        #expect(root.attributes == ["b": "\"é", "token": "x'y"])
        #expect(root.child("c")?.attributes == ["token": ""])
        #expect(root.descendant("d", "e")?.text == "f")
        #expect(root.descendant("d", "f", "e") == nil)
    }

    @Test func `a document above a limit is refused`() {
        let deep = { (levels: Int) in
            String(repeating: "<a>", count: levels) + String(repeating: "</a>", count: levels)
        }
        #expect(parse(deep(XMLElement.maximumDepth)) != nil)
        #expect(parse(deep(XMLElement.maximumDepth + 1)) == nil)
        let wide = { (count: Int) in "<a>" + String(repeating: "<b/>", count: count) + "</a>" }
        #expect(parse(wide(XMLElement.maximumElements - 1)) != nil)
        #expect(parse(wide(XMLElement.maximumElements)) == nil)
        let long = { (count: Int) in "<a>" + String(repeating: "x", count: count) + "</a>" }
        #expect(parse(long(XMLElement.maximumTextBytes)) != nil)
        #expect(parse(long(XMLElement.maximumTextBytes + 1)) == nil)
        #expect(parse("<a>" + String(repeating: "&lt;", count: 20_000) + "</a>") == nil)
        #expect(parse("<a b='\(String(repeating: "x", count: 20_000))'/>") == nil)
        let many = { (count: Int) in
            "<a \((0..<count).map { "b\($0)='' " }.joined())/>"
        }
        #expect(parse(many(XMLElement.maximumAttributes)) != nil)
        #expect(parse(many(XMLElement.maximumAttributes + 1)) == nil)
    }

    @Test func `every cut of a document is refused, not trapped on`() {
        let text = Array(
            "<?xml version='1.0'?><a b=\"c\"><d>&amp;&#x41;</d><![CDATA[e]]><!--f--></a>".utf8)
        for length in 0..<text.count {
            #expect(throws: XMLElement.Flaw.self) { try XMLElement.parse(Array(text[..<length])) }
        }
    }
}
