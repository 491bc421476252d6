import JSON

/// `text` with all characters escaped that could forge or break a log line, for text from peers.
package func oneLine(_ text: String) -> String {
    guard text.unicodeScalars.contains(where: \.breaksLine) else { return text }
    return text.unicodeScalars.reduce(into: "") { result, scalar in
        if scalar.breaksLine {
            result += "\\u{\(String(scalar.value, radix: 16))}"
        } else {
            result.unicodeScalars.append(scalar)
        }
    }
}
