# One image for all processes; the command selects the process. It contains Belfry and the app of src/app, both compiled, and the packages
# that they need. Sources, tests and development dependencies stay outside.

FROM node:24-slim AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY packages ./packages
COPY create-belfry/package.json ./create-belfry/
# The link makes the command `belfry` available at the same path as in an app that depends on the package. The image creates no apps.
RUN npm ci --omit=dev --ignore-scripts && rm node_modules/create-belfry && ln -s ../../bin/belfry.mjs node_modules/.bin/belfry

FROM node:24-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY packages ./packages
COPY create-belfry/package.json ./create-belfry/
RUN npm ci --ignore-scripts
COPY tsconfig.json ./
COPY scripts ./scripts
COPY src ./src
RUN npm run pack -- --workspaces published && echo "export { app } from './dist/app/index.js';" > belfry.config.js

FROM node:24-slim
# Keep compiled code between starts of a container.
ENV NODE_ENV=production NODE_COMPILE_CACHE=/tmp/compiled
WORKDIR /app
# What changes least comes first.
COPY --from=packages /app/node_modules ./node_modules
COPY package.json ./
COPY bin ./bin
COPY migrations ./migrations
COPY --from=build /app/published ./packages
COPY --from=build /app/dist ./dist
COPY --from=build /app/belfry.config.js ./

USER node
EXPOSE 5001
CMD ["node_modules/.bin/belfry", "start", "web"]
