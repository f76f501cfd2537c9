# syntax=docker/dockerfile:1
# Heartline in a container: `docker build -t heartline .`, then docs/operations.md, "In a container".

# Images are named by digest, because a tag may move. node:22.23.1-bookworm-slim
FROM node@sha256:6c74791e557ce11fc957704f6d4fe134a7bc8d6f5ca4403205b2966bd488f6b3 AS build
RUN apt-get update \
 && apt-get install -y --no-install-recommends python3 make g++ \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# Install scripts are disabled, except for the rebuild below; the workspace is for tests.
RUN npm ci --ignore-scripts --workspaces=false
COPY tsconfig.json ./
COPY scripts ./scripts
COPY src ./src
COPY web ./web
RUN node scripts/build.mjs --bundle
# Without the package that downloads prebuilt binaries: SQLite is compiled against the headers and C library of this image.
RUN node -e "const lock = require('./package-lock.json'); \
    delete lock.packages['node_modules/better-sqlite3'].dependencies['prebuild-install']; \
    require('fs').writeFileSync('package-lock.json', JSON.stringify(lock))" \
 && npm prune --omit=dev --ignore-scripts --workspaces=false
RUN npm_config_nodedir=/usr/local npm rebuild better-sqlite3 --build-from-source --foreground-scripts \
 && node -e "new (require('better-sqlite3'))(':memory:').close()" \
 && rm -rf node_modules/better-sqlite3/deps node_modules/better-sqlite3/src node_modules/better-sqlite3/build/Release/obj* \
 && find dist -name '*.map' -delete \
 && mkdir /state

# Only Debian's C library and Node: no shell, no package manager. gcr.io/distroless/nodejs22-debian12:nonroot
FROM gcr.io/distroless/nodejs22-debian12@sha256:13593b7570658e8477de39e2f4a1dd25db2f836d68a0ba771251572d23bb4f8e
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY migrations ./migrations
COPY docs/runbooks ./docs/runbooks
COPY packaging/healthcheck.mjs ./packaging/
COPY LICENSE ./
# A new volume gets the owner and mode of this directory.
COPY --from=build --chown=65532:65532 --chmod=700 /state /var/lib/heartline
ENV NODE_ENV=production HEARTLINE_CONFIG=/etc/heartline/heartline.yaml PATH=/nodejs/bin:$PATH
USER 65532:65532
VOLUME /var/lib/heartline
EXPOSE 9780 9781
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s --retries=3 \
  CMD ["/nodejs/bin/node", "/app/packaging/healthcheck.mjs"]
ENTRYPOINT ["/nodejs/bin/node", "/app/dist/src/main.js"]
CMD ["serve"]
