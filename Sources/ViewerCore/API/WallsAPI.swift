import Accounts
import HTTPTypes
import Hummingbird
import Logging

/// Saved walls: each account's own, and those shared by operators.
struct WallsAPI {
    private static let maximumBodyBytes = 16 << 10

    let site: ViewerSite
    let store: WallStore

    /// A wall to save.
    private struct Body: Decodable {
        var name: String
        var sources: [String]
        var tiles: Int?
        var turnSeconds: Int?
        var isShared: Bool?

        func wall(_ id: String, owner: String) -> Wall {
            Wall(
                id: id, name: name, sources: sources, tiles: tiles, turnSeconds: turnSeconds,
                owner: owner, isShared: isShared ?? false)
        }
    }

    private struct Listing: Encodable {
        var id: String
        var name: String
        var sources: [String]
        var tiles: Int?
        var turnSeconds: Int?
        var isShared: Bool
        /// Whether this account may replace and remove it.
        var isChangeable: Bool

        init(_ wall: Wall, isChangeable: Bool) {
            id = wall.id
            name = wall.name
            sources = wall.sources
            tiles = wall.tiles
            turnSeconds = wall.turnSeconds
            isShared = wall.isShared
            self.isChangeable = isChangeable
        }
    }

    func list(_ request: Request, _ context: ViewerContext) async throws -> Response {
        _ = try RequestQuery(request, [])
        let store = store
        let (identity, rights) = (context.identity, context.rights)
        let walls = try await site.run { try store.walls() }
        return try .json(
            walls.compactMap { wall in
                wall.seen(by: identity, rights).map {
                    Listing($0, isChangeable: wall.mayBeChanged(by: identity, rights))
                }
            })
    }

    func add(_ request: Request, _ context: ViewerContext) async throws -> Response {
        let wall = try await requestedWall(request, context, id: Self.newID())
        let store = store
        try await site.run { try store.change { $0.append(wall) } }
        site.logger.notice("\(context.identity) has saved the wall \(wall.id)")
        return try .json(Listing(wall, isChangeable: true), status: .created)
    }

    func replace(_ request: Request, _ context: ViewerContext) async throws -> Response {
        let id = context.parameters.get("wall") ?? ""
        let wall = try await requestedWall(request, context, id: id)
        let replaced = try await change(id, context) { walls, place in
            // A wall of another account keeps its owner.
            var wall = wall
            wall.owner = walls[place].owner
            walls[place] = wall
            return wall
        }
        return try .json(Listing(replaced, isChangeable: true))
    }

    func remove(_ request: Request, _ context: ViewerContext) async throws -> Response {
        _ = try RequestQuery(request, [])
        let id = context.parameters.get("wall") ?? ""
        _ = try await change(id, context) { walls, place in walls.remove(at: place) }
        site.logger.notice("\(context.identity) has removed the wall \(id)")
        return Response(status: .noContent)
    }

    private func requestedWall(
        _ request: Request, _ context: ViewerContext, id: String
    ) async throws -> Wall {
        _ = try RequestQuery(request, [])
        guard let owner = context.identity.ownerName else {
            throw Problem(.forbidden, "a link saves nothing: log in first")
        }
        let body: Body = try await request.decoded(limit: Self.maximumBodyBytes)
        let wall = body.wall(id, owner: owner)
        if let flaw = wall.flaw { throw Problem(.badRequest, flaw) }
        if let other = wall.sources.first(where: { !context.rights.mayRead($0) }) {
            throw Problem(.notFound, "no source '\(other)'")
        }
        guard !wall.isShared || wall.sources.allSatisfy(context.rights.mayOperate) else {
            throw Problem(.forbidden, "only operators of all its sources may share a wall")
        }
        return wall
    }

    private func change(
        _ id: String, _ context: ViewerContext,
        _ body: @escaping @Sendable (inout [Wall], _ place: Int) -> Wall
    ) async throws -> Wall {
        let (store, identity, rights) = (store, context.identity, context.rights)
        return try await site.run {
            try store.change { walls throws(Problem) in
                guard let place = walls.firstIndex(where: { $0.id == id }),
                    walls[place].seen(by: identity, rights) != nil
                else { throw Problem(.notFound, "there is no such wall, or not any more") }
                guard walls[place].mayBeChanged(by: identity, rights) else {
                    throw Problem(
                        .forbidden,
                        "this wall is shared: only operators of all its sources change it")
                }
                return body(&walls, place)
            }
        }
    }

    private static func newID() -> String {
        var generator = SystemRandomNumberGenerator()
        let text = String(generator.next(), radix: 16)
        return String(repeating: "0", count: 16 - text.count) + text
    }
}
