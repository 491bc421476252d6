import JSON

/// `text` with everything that could forge or break a line made visible: what peers say ends up in logs.
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
