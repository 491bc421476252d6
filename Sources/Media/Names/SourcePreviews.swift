/// The rule for previews: a source `NAME.preview` is the preview of the source `NAME` where there is one, and a source like any
/// other where there is none. A preview has no preview.
///
/// A preview is another rendition of the same camera's pictures, with fewer pixels, recorded as a source of its own. Every reader
/// asks this type which of the sources before it are previews.
package struct SourcePreviews: Sendable {
    private static let suffix = ".preview"

    private let names: Set<String>

    /// - Parameter names: all sources, of a session or a collector.
    package init(_ names: some Sequence<String>) { self.names = Set(names) }

    /// The name of a source's preview. It may be too long for a name; see ``DirectoryName``.
    package static func name(of source: String) -> String { source + suffix }

    /// The source whose preview has this name, whether or not either exists; nil: no preview has such a name.
    package static func source(named name: String) -> String? {
        guard name.hasSuffix(suffix) else { return nil }
        let source = String(name.dropLast(suffix.count))
        return source.isEmpty || source.hasSuffix(suffix) ? nil : source
    }

    /// The source that `name` is the preview of; nil: it is a source like any other.
    package func source(of name: String) -> String? {
        Self.source(named: name).flatMap { names.contains($0) ? $0 : nil }
    }

    package func isPreview(_ name: String) -> Bool { source(of: name) != nil }

    /// The name of a source's preview; nil: it has none.
    package func preview(of source: String) -> String? {
        let name = Self.name(of: source)
        return names.contains(name) && isPreview(name) ? name : nil
    }

    /// Each source with its preview after it, otherwise in the same order.
    package func grouped<Item>(_ items: [Item], name: (Item) -> String) -> [Item] {
        var previews: [String: Item] = [:]
        for item in items {
            if let source = source(of: name(item)) { previews[source] = item }
        }
        return items.filter { !isPreview(name($0)) }.flatMap { item in
            [item] + (previews[name(item)].map { [$0] } ?? [])
        }
    }
}
