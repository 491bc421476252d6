import Foundation
import Testing

/// Prose of all documents: what is neither code nor a table.
private struct Prose {
    struct Paragraph {
        var firstLine: Int
        var text: String
    }

    /// Every line outside of code and tables, with its number.
    var lines: [(number: Int, text: Substring)] = []
    /// Paragraphs, list items and headings; code in them is replaced by `x`.
    var paragraphs: [Paragraph] = []

    init(of text: String) {
        var isCode = false
        var isContinued = false
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false)
            .enumerated()
        {
            let content = line.drop { $0 == " " }
            if content.hasPrefix("```") {
                isCode.toggle()
                isContinued = false
                continue
            }
            guard !isCode, !content.isEmpty, !content.hasPrefix("|"), !line.hasPrefix("    ") else {
                isContinued = false
                continue
            }
            lines.append((index + 1, line))
            let item = content.prefixMatch(of: #/(?:[-*]|[0-9]+\.) /#)
            let rest = String(content[(item?.range.upperBound ?? content.startIndex)...])
            if isContinued, item == nil, !content.hasPrefix("#") {
                paragraphs[paragraphs.count - 1].text += " \(rest)"
            } else {
                paragraphs.append(Paragraph(firstLine: index + 1, text: rest))
            }
            isContinued = !content.hasPrefix("#")
        }
        for index in paragraphs.indices {
            paragraphs[index].text.replace(/`[^`]*`/, with: "`x`")
        }
    }
}

@Suite struct DocumentStyleTests {
    private static let longestLine = 120
    /// Described anew together with its module.
    private static let exceptions: Set = ["Sources/AgentCore/AgentCore.docc/AgentCore.md"]

    private static var documents: [String] {
        ["README.md", "CHANGELOG.md"]
            + ["Sources", "Tests", "deploy", "docs", "proto"].flatMap(Repository.files(below:))
            .filter { $0.hasSuffix(".md") && !exceptions.contains($0) }
    }

    @Test func `lines of documents fit into 120 columns`() throws {
        for path in Self.documents {
            for line in try Prose(of: Repository.text(path)).lines {
                // A link cannot be divided.
                let isLink = !line.text.drop { $0 == " " }.contains(" ")
                #expect(
                    line.text.count <= Self.longestLine || isLink,
                    "\(path):\(line.number) has \(line.text.count) columns")
            }
        }
    }

    /// A sentence that begins with one of these words hides its noun; the others name a person where a part acts.
    @Test func `sentences of documents name what acts`() throws {
        for path in Self.documents {
            for paragraph in try Prose(of: Repository.text(path)).paragraphs {
                let text = paragraph.text
                let hidden = text.firstMatch(
                    of:
                        /(?:^|[.!?:;)]\** )\**(What|Who|Whoever|Nobody|Somebody|Anybody|Those who|That which)\b/
                )
                // Headings and labels may begin so, and questions.
                if let hidden, !text.hasSuffix("?"), !text.hasSuffix(":") {
                    Issue.record("\(path):\(paragraph.firstLine): \(text[hidden.range])")
                }
                let person = text.firstMatch(
                    of: /\b([Nn]obody|[Ss]omebody|[Ww]hoever|[Aa]nybody|[Ee]verybody)\b/)
                if let person {
                    Issue.record("\(path):\(paragraph.firstLine): \(text[person.range])")
                }
            }
        }
    }
}
