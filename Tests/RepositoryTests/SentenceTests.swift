import Foundation
import Testing

/// Compares the sentences of the viewer's page with the list of them.
@Suite struct SentenceTests {
    /// A sentence and the file that has it.
    private struct Sentence: Hashable, CustomStringConvertible {
        var file: String
        var text: String

        var description: String { "\(file): \(text)" }
    }

    /// Those of the table, each below its basis.
    private static func listed() -> [(basis: String, sentence: Sentence)] {
        var basis = ""
        var found: [(String, Sentence)] = []
        for line in PageSentences.table.split(separator: "\n") {
            guard line.hasPrefix("    ") else {
                basis = String(line)
                continue
            }
            let parts = line.dropFirst(4).split(separator: ": ", maxSplits: 1)
            guard parts.count == 2 else { continue }
            found.append((basis, Sentence(file: String(parts[0]), text: String(parts[1]))))
        }
        return found
    }

    /// Those of the scripts.
    private static func written() throws -> Set<Sentence> {
        let folder = "Sources/CViewerPage/page"
        var found: Set<Sentence> = []
        for path in Repository.files(below: folder) where path.hasSuffix(".js") {
            var scanner = ScriptScanner(try Repository.text(path))
            for literal in scanner.literals() where literal.isSentence {
                found.insert(
                    Sentence(
                        file: path.split(separator: "/").last.map { String($0) } ?? path,
                        text: literal.text.replacing("\u{A0}", with: " ")))
            }
        }
        return found
    }

    @Test func `every sentence of the page is listed with its source data`() throws {
        let (listed, written) = (Self.listed(), try Self.written())
        #expect(listed.count > 400)
        #expect(listed.allSatisfy { !$0.basis.isEmpty })
        let known = Set(listed.map(\.sentence))
        #expect(known.count == listed.count, "a sentence of a file is listed once")
        let new = written.subtracting(known).map(\.description).sorted()
        #expect(new == [], "add these to PageSentences, below what each is derived from")
        let gone = known.subtracting(written).map(\.description).sorted()
        #expect(gone == [], "no script has these any more")
    }

    @Test func `no sentence of the page makes a prediction`() throws {
        let promises = /(?i)comes? back by itself|in a few seconds|\bnobody will\b/
        for sentence in try Self.written() {
            #expect(sentence.text.firstMatch(of: promises) == nil, "\(sentence)")
        }
    }

    @Test func `literals are found behind comments, patterns and in other literals`() {
        var scanner = ScriptScanner(
            """
            // It's not this.
            const a = /don't '"`/.test('two words') ? "it\\u2019s so" : `there are ${b ? 'three of' : ''} them`;
            """)
        #expect(
            scanner.literals().map(\.text) == [
                "two words", "it’s so", "there are … them", "three of", "",
            ])
    }
}

/// Finds the literals of a script. Of a template literal, `…` stands for each of its expressions.
private struct ScriptScanner {
    struct Literal {
        /// The code in front of it, without literals.
        var before: String
        var text: String

        /// Two words, or one with an inserted value: text for users, not a name, a class or an address.
        var isSentence: Bool {
            guard before.firstMatch(of: Self.notShown) == nil,
                text.trimmingCharacters(in: .whitespaces).contains(where: \.isWhitespace)
            else { return false }
            let words = text.split { !$0.isLetter && $0 != "’" }.filter { $0.count >= 2 }
            return words.count >= 2 || words.count == 1 && text.contains("…")
        }

        private static var notShown: Regex<(Substring, Substring, Substring?)> {
            /(className: |className = |classList\.[a-z]+\(|querySelector(All)?\(|closest\(|matches\(|address|from |import\(|Wheel\(|font = |style: \{[^}]*|new Error\()$/
        }
    }

    private let script: [Character]
    private var at = 0

    init(_ script: String) { self.script = Array(script) }

    private init(_ part: ArraySlice<Character>) { script = Array(part) }

    mutating func literals() -> [Literal] {
        var found: [Literal] = []
        var code = ""
        while at < script.count {
            let before = String(code.suffix(40))
            if starts("//") {
                while at < script.count, script[at] != "\n" { at += 1 }
            } else if starts("/*") {
                while at < script.count, !starts("*/") { at += 1 }
                at += 2
            } else if script[at] == "/", Self.isBeforePattern(code) {
                skipPattern()
                code += "R"
            } else if script[at] == "'" || script[at] == "\"" {
                found.append(Literal(before: before, text: quoted()))
                code += "S"
            } else if script[at] == "`" {
                let (text, inner) = template()
                found.append(Literal(before: before, text: text))
                found += inner
                code += "S"
            } else {
                code.append(script[at])
                at += 1
            }
        }
        return found
    }

    private func starts(_ text: String) -> Bool { script[at...].starts(with: text) }

    /// Where an operator or a word stands in front, a slash begins a pattern.
    private static func isBeforePattern(_ code: String) -> Bool {
        let text = code.trimmingCharacters(in: .whitespacesAndNewlines)
        guard let last = text.last else { return true }
        return "(,=:[!&|?{};".contains(last) || text.hasSuffix("return") || text.hasSuffix("=>")
    }

    private mutating func skipPattern() {
        at += 1
        var isInClass = false
        while script[at] != "/" || isInClass {
            switch script[at] {
            case "\\": at += 1
            case "[": isInClass = true
            case "]": isInClass = false
            default: break
            }
            at += 1
        }
        at += 1
    }

    /// The character of an escape; moves past it.
    private mutating func escaped() -> Character {
        at += 1
        guard script[at] == "u", at + 4 < script.count,
            let value = UInt32(String(script[at + 1...at + 4]), radix: 16),
            let scalar = Unicode.Scalar(value)
        else {
            defer { at += 1 }
            return script[at]
        }
        at += 5
        return Character(scalar)
    }

    private mutating func quoted() -> String {
        let quote = script[at]
        at += 1
        var text = ""
        while script[at] != quote {
            if script[at] == "\\" {
                text.append(escaped())
            } else {
                text.append(script[at])
                at += 1
            }
        }
        at += 1
        return text
    }

    private mutating func template() -> (text: String, inner: [Literal]) {
        at += 1
        var (text, inner): (String, [Literal]) = ("", [])
        while script[at] != "`" {
            if script[at] == "\\" {
                text.append(escaped())
            } else if starts("${") {
                at += 2
                let start = at
                skipExpression()
                var scanner = ScriptScanner(script[start..<at])
                inner += scanner.literals()
                text += "…"
                at += 1
            } else {
                text.append(script[at])
                at += 1
            }
        }
        at += 1
        return (text, inner)
    }

    /// Moves to the brace that ends an expression of a template literal.
    private mutating func skipExpression() {
        var depth = 1
        while true {
            switch script[at] {
            case "{": depth += 1
            case "}":
                depth -= 1
                if depth == 0 { return }
            case "'", "\"":
                _ = quoted()
                continue
            case "`":
                _ = template()
                continue
            default: break
            }
            at += 1
        }
    }
}
