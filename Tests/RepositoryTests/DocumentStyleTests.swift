import Foundation
import Testing

/// Prose of all documents, without code and tables.
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
            let first = content.prefix { $0 != " " }
            let isItem =
                ["-", "*"].contains(first)
                || first.last == "." && first.dropLast().allSatisfy(\.isNumber)
            let rest = isItem ? content.dropFirst(first.count + 1) : content
            if isContinued, !isItem, !content.hasPrefix("#") {
                paragraphs[paragraphs.count - 1].text += " \(rest)"
            } else {
                paragraphs.append(Paragraph(firstLine: index + 1, text: String(rest)))
            }
            isContinued = !content.hasPrefix("#")
        }
        for index in paragraphs.indices {
            // Every second piece between backquotes is code.
            paragraphs[index].text = paragraphs[index].text
                .split(separator: "`", omittingEmptySubsequences: false).enumerated()
                .map { $0.offset.isMultiple(of: 2) ? String($0.element) : "x" }.joined()
        }
    }
}

@Suite struct DocumentStyleTests {
    private static let longestLine = 120

    private static var documents: [String] {
        ["README.md", "CHANGELOG.md"]
            + ["Sources", "Tests", "deploy", "docs", "proto"].flatMap(Repository.files(below:))
            .filter { $0.hasSuffix(".md") }
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

    /// A sentence that begins with one of these words hides its noun.
    private static let hiding: Set = ["What", "Who", "Whoever", "Nobody", "Somebody", "Anybody"]
    /// They name a person where a part acts.
    private static let persons: Set = ["nobody", "somebody", "whoever", "anybody", "everybody"]

    @Test func `sentences of documents do not begin with a pronoun that hides the noun`() throws {
        for path in Self.documents {
            for paragraph in try Prose(of: Repository.text(path)).paragraphs {
                // Labels and questions may begin so.
                let isSentence = !paragraph.text.hasSuffix("?") && !paragraph.text.hasSuffix(":")
                var isBeginning = true
                for text in paragraph.text.split(separator: " ") {
                    let word = text.filter(\.isLetter)
                    if isBeginning && isSentence && Self.hiding.contains(word)
                        || Self.persons.contains(word.lowercased())
                    {
                        Issue.record("\(path):\(paragraph.firstLine): \(text)")
                    }
                    let end = text.last { $0 != "*" }
                    isBeginning = end.map { ".!?:;)".contains($0) } ?? isBeginning
                }
            }
        }
    }
}
