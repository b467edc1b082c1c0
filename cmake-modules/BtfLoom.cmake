#[=======================================================================[.rst:
BtfLoom
-------

Puts BTF (BPF Type Format), made from DWARF, into what a build produces.

  find_package(BtfLoom CONFIG REQUIRED)      # or add_subdirectory(btfloom)
  add_executable(app main.c)
  target_compile_options(app PRIVATE -g)
  add_btf_target(app_btf TARGET app)         # app.btf beside app, with `all`
  add_btf_target(app_btf TARGET app EMBED)   # or: a section .BTF in app itself

  add_btf_target(<name>
     TARGET <target> | FILE <elf>
     [OUTPUT <file.btf>] [EMBED]
     [FEATURES <feature>...] [LANG_EXCLUDE <language>...]
     [CONFIGURATIONS <config>...] [JOBS <n>]
     [EXCLUDE_FROM_ALL] [COMMENT <text>])

``TARGET``
  An executable, a shared or module library, a static or object library of this project. Of the latter two, all
  objects are encoded into one BTF.
``FILE``
  Any ELF file; if the build makes it, by something in the same folder.
``OUTPUT``
  The detached BTF; relative to the current binary folder, and made with its folder. Default: <name>.btf. In the target property ``BTF_FILE`` of <name>
  it can be found later: ``install(FILES $<TARGET_PROPERTY:app_btf,BTF_FILE> DESTINATION lib/btf)``.
``EMBED``
  Adds the BTF to the linked file itself, right after every link, so it can never be stale. Needs ``TARGET``, in the same
  folder, and an executable, shared or module library. There is no OUTPUT then.
``FEATURES``
  Names of pahole's --btf_features (default: its default set): default, all, +<feature>, ...
``LANG_EXCLUDE``
  Languages whose compilation units are left out: rust, ...
``CONFIGURATIONS``
  Does something in these configurations only; in others the output is an empty file.
``JOBS``
  Threads at most. Default: with Makefile generators what the job server grants, else the processors.
``EXCLUDE_FROM_ALL``
  Only what depends on <name> makes it.

Without debug information (-g) the step fails and says so.
#]=======================================================================]
include_guard(GLOBAL)

# With Ninja, steps run one at a time: each has threads of its own. The property hides the variable
# CMAKE_JOB_POOLS once it is set, so what that says must come along.
function(_btfloom_define_pool)
  get_property(pools GLOBAL PROPERTY JOB_POOLS)
  if(NOT pools)
    set(pools ${CMAKE_JOB_POOLS})
  endif()
  if(NOT "btfloom=1" IN_LIST pools)
    list(APPEND pools btfloom=1)
  endif()
  set_property(GLOBAL PROPERTY JOB_POOLS ${pools})
endfunction()

function(_btfloom_check_arguments name)
  if(NOT CMAKE_SYSTEM_NAME STREQUAL "Linux")
    message(FATAL_ERROR "add_btf_target(${name}): BTF is for ELF files of Linux")
  endif()
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "add_btf_target(${name}): unknown arguments: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(arg_KEYWORDS_MISSING_VALUES)
    message(FATAL_ERROR "add_btf_target(${name}): no value for: ${arg_KEYWORDS_MISSING_VALUES}")
  endif()
  foreach(keyword IN ITEMS BASE DISTILLED_BASE HEADER)
    if(arg_${keyword})
      message(FATAL_ERROR "add_btf_target(${name}): ${keyword} is not in this version")
    endif()
  endforeach()
  if((arg_TARGET AND arg_FILE) OR NOT (arg_TARGET OR arg_FILE))
    message(FATAL_ERROR "add_btf_target(${name}): give either TARGET or FILE")
  endif()
  if(arg_TARGET AND NOT TARGET "${arg_TARGET}")
    message(FATAL_ERROR "add_btf_target(${name}): there is no target ${arg_TARGET}")
  endif()
  if(arg_JOBS AND NOT arg_JOBS MATCHES "^[1-9][0-9]*$")
    message(FATAL_ERROR "add_btf_target(${name}): JOBS must be a number from 1 up, not ${arg_JOBS}")
  endif()
  if(arg_EMBED AND (arg_FILE OR arg_OUTPUT))
    message(FATAL_ERROR "add_btf_target(${name}): EMBED goes with TARGET, and without OUTPUT")
  endif()
endfunction()

# The command line up to the output, in `variable`.
function(_btfloom_command variable)
  set(command "$<TARGET_FILE:BtfLoom::encode>" encode)
  if(arg_JOBS)
    list(APPEND command "-j${arg_JOBS}")
  endif()
  if(arg_FEATURES)
    list(JOIN arg_FEATURES "," features)
    list(APPEND command "--features=${features}")
  endif()
  if(arg_LANG_EXCLUDE)
    list(JOIN arg_LANG_EXCLUDE "," languages)
    list(APPEND command "--lang-exclude=${languages}")
  endif()
  # make passes its job server on to commands that mention $(MAKE); CMake 3.28 has a keyword for it,
  # but not for what runs after a link.
  if(CMAKE_GENERATOR MATCHES "Makefiles" AND (arg_EMBED OR CMAKE_VERSION VERSION_LESS 3.28))
    list(PREPEND command ${CMAKE_COMMAND} -E env "BTFLOOM_MAKE=$(MAKE)")
  endif()
  set(${variable} "${command}" PARENT_SCOPE)
endfunction()

# Wraps `command` so that it does nothing but make `output` (if any) in other configurations.
function(_btfloom_in_configurations variable output)
  if(arg_CONFIGURATIONS)
    list(JOIN arg_CONFIGURATIONS "," configurations)
    set(otherwise ${CMAKE_COMMAND} -E true)
    if(output)
      set(otherwise ${CMAKE_COMMAND} -E touch "${output}")
    endif()
    # An expression per argument: in one $<IF> around them all, a comma in an argument would separate.
    # Arguments that come out empty vanish, thanks to COMMAND_EXPAND_LISTS.
    set(both)
    foreach(argument IN LISTS ${variable})
      list(APPEND both "$<$<CONFIG:${configurations}>:${argument}>")
    endforeach()
    foreach(argument IN LISTS otherwise)
      list(APPEND both "$<$<NOT:$<CONFIG:${configurations}>>:${argument}>")
    endforeach()
    set(${variable} "${both}" PARENT_SCOPE)
  endif()
endfunction()

function(_btfloom_embed name)
  get_target_property(type ${arg_TARGET} TYPE)
  if(NOT type MATCHES "^(EXECUTABLE|SHARED_LIBRARY|MODULE_LIBRARY)$")
    message(FATAL_ERROR "add_btf_target(${name}): EMBED needs a linked file, ${arg_TARGET} is a ${type}")
  endif()
  _btfloom_command(command)
  list(APPEND command --in-place "$<TARGET_FILE:${arg_TARGET}>")
  _btfloom_in_configurations(command "")
  if(NOT arg_COMMENT)
    set(arg_COMMENT "Adding BTF to ${arg_TARGET}")
  endif()
  add_custom_command(TARGET ${arg_TARGET} POST_BUILD COMMAND "${command}" COMMENT "${arg_COMMENT}"
                     COMMAND_EXPAND_LISTS VERBATIM)
  get_target_property(is_imported BtfLoom::encode IMPORTED)
  if(NOT is_imported)
    add_dependencies(${arg_TARGET} BtfLoom::encode)
  endif()
  add_custom_target(${name})
  add_dependencies(${name} ${arg_TARGET})
  set_target_properties(${name} PROPERTIES BTF_FILE "$<TARGET_FILE:${arg_TARGET}>")
endfunction()

function(_btfloom_detach name)
  set(output "${arg_OUTPUT}")
  if(NOT output)
    set(output "${name}.btf")
    get_property(is_multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
    if(is_multi_config)
      set(output "$<CONFIG>/${output}")
    endif()
  endif()
  if(NOT IS_ABSOLUTE "${output}")
    set(output "${CMAKE_CURRENT_BINARY_DIR}/${output}")
  endif()
  # Ninja makes the folders of outputs, make does not.
  if(NOT output MATCHES "\\$<")
    get_filename_component(folder "${output}" DIRECTORY)
    file(MAKE_DIRECTORY "${folder}")
  endif()
  set(depends BtfLoom::encode)
  if(arg_FILE)
    get_filename_component(inputs "${arg_FILE}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_BINARY_DIR}")
    list(APPEND depends "${inputs}")
  else()
    get_target_property(type ${arg_TARGET} TYPE)
    if(type MATCHES "^(STATIC_LIBRARY|OBJECT_LIBRARY)$")
      set(inputs "$<TARGET_OBJECTS:${arg_TARGET}>")
      list(APPEND depends ${arg_TARGET} "${inputs}")
    elseif(type MATCHES "^(EXECUTABLE|SHARED_LIBRARY|MODULE_LIBRARY)$")
      set(inputs "$<TARGET_FILE:${arg_TARGET}>")
      list(APPEND depends ${arg_TARGET} "${inputs}")
    else()
      message(FATAL_ERROR "add_btf_target(${name}): ${arg_TARGET} is a ${type}, which has no objects")
    endif()
  endif()
  _btfloom_command(command)
  list(APPEND command -o "${output}" "${inputs}")
  _btfloom_in_configurations(command "${output}")
  if(NOT arg_COMMENT)
    set(arg_COMMENT "Encoding BTF ${name}")
  endif()
  set(options)
  if(CMAKE_GENERATOR MATCHES "Ninja")
    _btfloom_define_pool()
    list(APPEND options JOB_POOL btfloom)
  elseif(CMAKE_GENERATOR MATCHES "Makefiles" AND CMAKE_VERSION VERSION_GREATER_EQUAL 3.28)
    list(APPEND options JOB_SERVER_AWARE TRUE)
  endif()
  add_custom_command(OUTPUT "${output}" COMMAND "${command}" DEPENDS ${depends}
                     COMMENT "${arg_COMMENT}" COMMAND_EXPAND_LISTS VERBATIM ${options})
  set(all ALL)
  if(arg_EXCLUDE_FROM_ALL)
    set(all)
  endif()
  add_custom_target(${name} ${all} DEPENDS "${output}")
  set_target_properties(${name} PROPERTIES BTF_FILE "${output}")
endfunction()

function(add_btf_target name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "EMBED;EXCLUDE_FROM_ALL;DISTILLED_BASE"
                        "TARGET;FILE;OUTPUT;BASE;HEADER;JOBS;COMMENT"
                        "FEATURES;LANG_EXCLUDE;CONFIGURATIONS")
  _btfloom_check_arguments(${name})
  if(arg_EMBED)
    _btfloom_embed(${name})
  else()
    _btfloom_detach(${name})
  endif()
endfunction()
