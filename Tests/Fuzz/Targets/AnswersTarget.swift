import XML

@testable import ObjectStore

/// An object store's answers and a credentials file: each is refused or parsed within its limits.
enum AnswersTarget {
    static func run(_ bytes: [UInt8]) {
        _ = CredentialsFile.credentials(of: "default", in: bytes)
        _ = StoreAnswers.error(bytes)
        let text = String(decoding: bytes, as: UTF8.self)
        _ = RequestTime(extended: text)
        _ = RequestTime(httpDate: text)
        let root: XMLElement
        do throws(XMLElement.Flaw) {
            root = try XMLElement.parse(bytes)
        } catch {
            precondition(error.offset <= bytes.count)
            return
        }
        var elements = 0
        check(root, depth: 1, &elements)
        do throws(StoreAnswers.Broken) {
            let (parts, _) = try StoreAnswers.parts(root)
            // A sent document parses to the same content.
            let sent = try StoreAnswers.document(StoreAnswers.completion(parts))
            precondition(
                parts.isEmpty || sent.children.map { $0.text(of: "ETag") } == parts.map(\.tag))
        } catch {
            readOthers(root)
        }
    }

    private static func readOthers(_ root: XMLElement) {
        do throws(StoreAnswers.Broken) {
            for entry in try StoreAnswers.listing(root, below: "").entries {
                precondition(entry.sizeBytes >= 0)
            }
        } catch {
            // No listing either.
        }
    }

    private static func check(_ element: XMLElement, depth: Int, _ elements: inout Int) {
        elements += 1
        precondition(depth <= XMLElement.maximumDepth + 1)
        precondition(elements <= XMLElement.maximumElements)
        // An invalid byte becomes U+FFFD: three bytes.
        precondition(element.text.utf8.count <= 3 * XMLElement.maximumTextBytes)
        for child in element.children { check(child, depth: depth + 1, &elements) }
    }
}
