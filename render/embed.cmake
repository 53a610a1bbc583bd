# cmake -DIN=flame.js -DOUT=flame_js.c -DNAME=flame_js -P embed.cmake: the bytes of IN as a C array.
file(READ ${IN} hex HEX)
string(LENGTH "${hex}" digits)
math(EXPR len "${digits} / 2")
string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
string(REGEX REPLACE "(................................................................................)" "\\1\n"
    bytes "${bytes}")
file(WRITE ${OUT} "#include \"render/assets.h\"\n
const char gp_asset_${NAME}[] = {\n${bytes}0};
const size_t gp_asset_${NAME}_len = ${len};\n")
